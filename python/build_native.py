"""Makes ers/_native, the calls of the library's C header for Python.

pkg-config finds the library: name its folder in PKG_CONFIG_PATH where the
library is installed in none that the system searches. What is declared to cffi
is the installed header itself, so that the two cannot differ.
"""

import os
import re
import subprocess

from cffi import FFI

# Python functions that the library calls: ers/_callbacks.py.
CALLBACKS = """
extern "Python" {
void* ers_py_memory(void* context, size_t bytes);
ptrdiff_t ers_py_source(void* context, void* into, size_t bytes);
void ers_py_begin(void* context, const ers_object_info* info);
int ers_py_sink(void* context, const void* bytes, size_t size);
int ers_py_visit(void* context, const char* key, size_t key_bytes,
                 const ers_object_info* info);
void ers_py_log(void* context, ers_log_level level, const char* line);
}
"""


def variable(name):
    """One of libers.pc."""
    try:
        found = subprocess.run(
            ["pkg-config", f"--variable={name}", "libers"], check=True,
            stdout=subprocess.PIPE, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(
            "pkg-config does not find libers: install the library (cmake "
            "--install), and name the folder of its libers.pc in "
            "PKG_CONFIG_PATH") from error
    return found.stdout.strip()


def declarations(header):
    """The header as cffi reads it: no preprocessor, sizes by the compiler."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    numbers = re.findall(r"^#define (ERS_\w+) [(\d]", text, flags=re.M)
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text,
                  flags=re.M | re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M).replace("ERS_API", "")
    text = re.sub(r"\[ERS_\w+\]", "[...]", text)
    constants = [f"#define {name} ..." for name in numbers]
    return "\n".join([*constants, text])


def make():
    with open(os.path.join(variable("includedir"), "ers", "ers.h"),
              encoding="utf-8") as file:
        header = file.read()
    folder = variable("libdir")
    ffi = FFI()
    ffi.cdef(declarations(header))
    ffi.cdef(CALLBACKS)
    # The library is found again where it was found now.
    ffi.set_source_pkgconfig(
        "ers._native", ["libers"], "#include <ers/ers.h>",
        extra_link_args=[f"-Wl,-rpath,{folder}"])
    return ffi


native = make()
