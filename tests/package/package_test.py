"""Installs the build tree and uses it as a stranger would.

Arguments: build directory, project version, C compiler, C++ compiler.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD, VERSION, CC, CXX = sys.argv[1:5]


def output(*command, env=None):
    result = subprocess.run(command, capture_output=True, text=True,
                            check=False, env=env)
    if result.returncode != 0:
        raise AssertionError(f"{shlex.join(command)} ended with "
                             f"{result.returncode}:\n{result.stdout}"
                             f"{result.stderr}")
    return result.stdout


class PackageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="ers-package-test-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        staged = os.path.join(cls.work, "staged")
        output("cmake", "--install", BUILD, "--prefix", staged)
        # A tree that is moved before it is used shows every path that was
        # burnt in: only the pkg-config file may know its prefix.
        cls.prefix = os.path.join(cls.work, "moved")
        os.rename(staged, cls.prefix)
        cls.library = cls.find("libers.so")
        cls.libdir = os.path.dirname(cls.library)

    @classmethod
    def find(cls, name):
        for directory, _, files in os.walk(cls.prefix):
            if name in files:
                return os.path.join(directory, name)
        raise AssertionError(f"{name} was not installed")

    def pkg_config(self, *words):
        env = {**os.environ,
               "PKG_CONFIG_PATH": os.path.join(self.libdir, "pkgconfig")}
        return output("pkg-config", f"--define-variable=prefix={self.prefix}",
                      *words, "libers", env=env)

    def compile_and_run(self, compiler, *sources):
        program = os.path.join(self.work, "program")
        flags = shlex.split(self.pkg_config("--cflags", "--libs"))
        output(*compiler, *sources, "-o", program, *flags)
        env = {**os.environ, "LD_LIBRARY_PATH": self.libdir}
        return output(program, env=env).strip()

    def test_cmake_package(self):
        build = os.path.join(self.work, "user-build")
        output("cmake", "-G", "Ninja", "-S", os.path.join(HERE, "cpp"), "-B",
               build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
               f"-DCMAKE_CXX_COMPILER={CXX}", f"-DWANTED_VERSION={VERSION}")
        output("cmake", "--build", build)
        self.assertEqual(output(os.path.join(build, "user")).strip(), VERSION)

    def test_pkg_config(self):
        self.assertEqual(self.pkg_config("--modversion").strip(), VERSION)
        self.assertEqual(
            self.compile_and_run([CXX, "-std=c++20"],
                                 os.path.join(HERE, "cpp", "main.cc")),
            VERSION)

    def test_pkg_config_from_c(self):
        self.assertEqual(
            self.compile_and_run([CC, "-std=c11", "-Wall", "-Werror"],
                                 os.path.join(HERE, "c", "main.c")), VERSION)

    def test_pkg_config_names_the_prefix_of_the_installation(self):
        with open(self.find("libers.pc"), encoding="utf-8") as file:
            self.assertIn(f"prefix={self.work}/staged\n", file.read())

    def test_soname(self):
        major = VERSION.split(".", maxsplit=1)[0]
        self.assertIn(f"Library soname: [libers.so.{major}]",
                      output("readelf", "-d", self.library))
        self.assertEqual(os.readlink(self.library), f"libers.so.{major}")

    def test_only_the_public_interface_is_exported(self):
        declared = set()
        include = os.path.join(os.path.dirname(self.find("status.h")))
        for name in os.listdir(include):
            with open(os.path.join(include, name), encoding="utf-8") as file:
                text = file.read()
            declared |= set(re.findall(
                r"(?:class|struct) ERS_API (\w+)", text))
            declared |= set(re.findall(r"ERS_API [^;{()]*?(\w+)\s*\(", text))
        symbols = output("nm", "-DC", "--defined-only", self.library)
        exported = []
        for line in symbols.splitlines():
            name = re.sub(r"^\S+ \w ", "", line)
            name = re.sub(r"@@LIBERS_0$", "", name)
            name = re.sub(r"^(typeinfo|typeinfo name|vtable) for ", "", name)
            match = re.match(r"(?:ers::)?(\w+)", name)
            if name != "LIBERS_0":
                exported.append(name)
                self.assertIn(match[1], declared, line)
                self.assertRegex(name, r"^(ers::|ers_)", line)
        self.assertTrue(exported)

    def test_every_public_header_is_installed_and_stands_alone(self):
        flags = shlex.split(self.pkg_config("--cflags"))
        include = os.path.dirname(self.find("status.h"))
        source = os.path.join(HERE, "..", "..", "libers", "include", "ers")
        self.assertEqual(sorted(os.listdir(include)),
                         sorted(os.listdir(source)))
        for name in os.listdir(include):
            output(CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror",
                   "-fsyntax-only", *flags, "-include", f"ers/{name}", "-x",
                   "c++", "/dev/null")

    def test_the_daemon_comes_with_its_page_its_unit_and_a_sample(self):
        self.assertTrue(self.find("ersproxy.8").endswith("man/man8/ersproxy.8"))
        sample = self.find("ersproxy.yaml.sample")
        self.assertIn(os.path.join("share", "doc"), sample)
        output(os.path.join(self.prefix, "bin", "ersproxy"), "--check-config",
               sample)
        unit = self.find("ersproxy.service")
        self.assertTrue(unit.endswith("lib/systemd/system/ersproxy.service"))
        with open(unit, encoding="utf-8") as file:
            self.assertIn(f"ExecStart={self.work}/staged/bin/ersproxy "
                          "--config /etc/ersproxy.yaml\n", file.read())

    def test_every_program_has_a_page_and_is_completed(self):
        for name in os.listdir(os.path.join(self.prefix, "bin")):
            section = 8 if name == "ersproxy" else 1
            for path in (f"man/man{section}/{name}.{section}",
                         f"bash-completion/completions/{name}",
                         f"fish/vendor_completions.d/{name}.fish",
                         f"zsh/site-functions/_{name}"):
                path = os.path.join(self.prefix, "share", path)
                self.assertGreater(os.path.getsize(path), 100, path)

    def test_advice_comes_with_its_figures(self):
        said = output(os.path.join(self.prefix, "bin", "ersctl"), "advise",
                      "--object-size", "1048576", "--mbit", "200")
        self.assertIn("rep:2", said)

    def test_installed_programs_find_the_library_and_print_the_version(self):
        programs = os.path.join(self.prefix, "bin")
        self.assertTrue(os.listdir(programs))
        for name in os.listdir(programs):
            said = output(os.path.join(programs, name), "--version")
            self.assertIn(VERSION, said, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
