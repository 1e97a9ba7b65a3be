"""Installs the library, and the Python package against it, without a network.

  install.py LIBRARY CMAKE_INSTALL FOLDER

LIBRARY is built; CMAKE_INSTALL is the build's cmake_install.cmake. Makes
FOLDER/prefix and FOLDER/venv, from nothing.
"""

import os
import shutil
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def run(*command, **environment):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   env={**os.environ, **environment})


def folder_of(prefix, name):
    for folder, _, files in os.walk(prefix):
        if name in files:
            return folder
    sys.exit(f"{name} was not installed below {prefix}")


def main():
    library, rules, folder = sys.argv[1:]
    if not os.path.exists(library):
        sys.exit(f"{library} is not built")
    prefix, venv, source = (os.path.join(folder, name) for name in
                            ("prefix", "venv", "source"))
    for old in (prefix, venv, source):
        shutil.rmtree(old, ignore_errors=True)
    # The library, its headers and its package; no program.
    run("cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}",
        "-DCMAKE_INSTALL_LOCAL_ONLY=ON", "-P", rules)
    # What Debian has, numpy among it, can be imported there.
    run(sys.executable, "-m", "venv", "--system-site-packages", venv)
    # A build leaves files beside what it builds.
    shutil.copytree(os.path.join(TOP, "python"), source)
    run(os.path.join(venv, "bin", "python"), "-m", "pip", "install",
        "--quiet", "--no-index", "--no-build-isolation", source,
        PKG_CONFIG_PATH=os.path.join(folder_of(prefix, "libers.pc")))


if __name__ == "__main__":
    main()
