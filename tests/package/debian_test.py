"""The Debian packages: names, files, what they depend on, and lintian's view.

  debian_test.py BUILD VERSION

Exits with 77 where packages cannot be made."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import debian_packages
from debian_packages import TOP, field, files, output

BUILD, VERSION = sys.argv[1:3]
LIBRARIES = "/usr/lib/*/"
SHELLS = ("/usr/share/bash-completion/completions/{0}",
          "/usr/share/fish/vendor_completions.d/{0}.fish",
          "/usr/share/zsh/vendor-completions/_{0}")


def installed(package):
    """Its files but for what Debian wants of every package."""
    plain = (re.sub(r"^/usr/lib/[^/]+-linux-[^/]+/", LIBRARIES, path)
             for path in files(package))
    return {path for path in plain if not re.match(
        r"/usr/share/(doc/[^/]+/(changelog|copyright)|lintian/)", path)}


class DebianTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="ers-debian-test-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        # Debug symbols and compression take most of the time.
        cls.packages = debian_packages.build(
            BUILD, cls.work, DEB_BUILD_OPTIONS="noautodbgsym",
            DPKG_DEB_COMPRESSOR_TYPE="gzip", DPKG_DEB_COMPRESSOR_LEVEL="1")

    def unpacked(self, name):
        folder = os.path.join(self.work, "unpacked-" + name)
        if not os.path.isdir(folder):
            output("dpkg-deb", "--raw-extract", self.packages[name], folder)
        return folder

    def script(self, package, name):
        path = os.path.join(self.unpacked(package), "DEBIAN", name)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_the_version_is_the_projects(self):
        for package in self.packages.values():
            self.assertEqual(field(package, "Version"), VERSION)

    def test_the_librarys_package_is_named_by_its_soname(self):
        soname = f"libers.so.{VERSION.partition('.')[0]}"
        name = soname.replace(".so.", "")
        self.assertEqual(set(self.packages),
                         {name, "libers-dev", "ersproxy", "ers-tools"})
        self.assertEqual(installed(self.packages[name]),
                         {LIBRARIES + soname, f"{LIBRARIES}libers.so.{VERSION}"})

    def test_what_programs_are_compiled_with(self):
        headers = os.listdir(os.path.join(TOP, "libers", "include", "ers"))
        found = installed(self.packages["libers-dev"])
        self.assertEqual(
            {path for path in found if path.startswith("/usr/include/")},
            {f"/usr/include/ers/{name}" for name in headers})
        self.assertLess({LIBRARIES + "libers.so",
                         LIBRARIES + "pkgconfig/libers.pc",
                         LIBRARIES + "cmake/libers/libers-config.cmake"}, found)
        depends = field(self.packages["libers-dev"], "Depends")
        self.assertIn(f"libers0 (= {VERSION})", depends)

    def test_the_daemon(self):
        self.assertEqual(
            installed(self.packages["ersproxy"]),
            {"/etc/ersproxy.yaml", "/lib/systemd/system/ersproxy.service",
             "/usr/bin/ersproxy", "/usr/lib/sysusers.d/ersproxy.conf",
             "/usr/lib/tmpfiles.d/ersproxy.conf",
             "/usr/share/man/man8/ersproxy.8.gz",
             "/usr/share/doc/ersproxy/examples/ersproxy.yaml.sample",
             "/usr/share/doc/ersproxy/runbook.md.gz",
             *(f"/usr/share/doc/ersproxy/examples/monitoring/ersproxy.{end}"
               for end in ("rules.yml", "rules.test.yml", "dashboard.json")),
             *(shell.format("ersproxy") for shell in SHELLS)})
        self.assertEqual(self.script("ersproxy", "conffiles").split(),
                         ["/etc/ersproxy.yaml"])

    def test_the_daemon_waits_for_its_settings(self):
        unit = os.path.join(self.unpacked("ersproxy"),
                            "lib/systemd/system/ersproxy.service")
        with open(unit, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("\nUser=ersproxy\n", text)
        self.assertNotIn("DynamicUser", text)
        self.assertIn("\nExecStart=/usr/bin/ersproxy "
                      "--config /etc/ersproxy.yaml\n", text)
        script = self.script("ersproxy", "postinst")
        self.assertIn("systemd-sysusers", script)
        # What runs is replaced and not restarted.
        self.assertIn("--signal=SIGUSR2", script)
        self.assertNotIn("restart", script.replace("by\n# a restart", ""))
        # It is enabled where it was before, and not else.
        self.assertIn("was-enabled 'ersproxy.service'", script)
        self.assertEqual(script.count("deb-systemd-helper enable"), 1)
        self.assertIn("deb-systemd-invoke stop",
                      self.script("ersproxy", "prerm"))

    def test_the_tools(self):
        tools = ("ersctl", "ers-analyze", "ers-bench")
        self.assertEqual(
            installed(self.packages["ers-tools"]),
            {"/usr/share/libers/advice.json", "/usr/share/libers/figures.py",
             *(f"/usr/bin/{tool}" for tool in tools),
             *(f"/usr/share/man/man1/{tool}.1.gz" for tool in tools),
             *(shell.format(tool) for tool in tools for shell in SHELLS)})
        self.assertIn("libers0 (>= ",
                      field(self.packages["ers-tools"], "Depends"))

    def test_programs_search_the_system_for_libraries(self):
        for package in ("ersproxy", "ers-tools"):
            folder = os.path.join(self.unpacked(package), "usr", "bin")
            for name in os.listdir(folder):
                said = output("readelf", "-d", os.path.join(folder, name))
                self.assertNotRegex(said, "RUNPATH|RPATH", name)

    def test_it_is_built_with_the_listed_packages(self):
        listed = output(os.path.join(TOP, "memcached-cluster",
                                     "install-packages"), "--list", "build")
        with open(os.path.join(TOP, "debian", "control"),
                  encoding="utf-8") as file:
            wanted = re.search(r"^Build-Depends: (.*(?:\n .*)*)", file.read(),
                               re.M)[1]
        names = {each.split()[0] for each in wanted.split(",")}
        # Every Debian system that builds packages has the compiler.
        self.assertEqual(
            names - {"debhelper-compat", "dh-sequence-installsysusers",
                     "chrpath"},
            set(listed.split()) - {"g++"})

    def test_lintian_finds_nothing(self):
        if not shutil.which("lintian"):
            print("not run: there is no lintian")
            return
        changes = [os.path.join(self.work, name)
                   for name in os.listdir(self.work)
                   if name.endswith(".changes")]
        self.assertEqual(len(changes), 1)
        result = subprocess.run(
            ["lintian", "--allow-root", "--fail-on", "error,warning",
             "--tag-display-limit", "0", *changes],
            capture_output=True, text=True, check=False,
            timeout=debian_packages.DEADLINE_S)
        self.assertEqual((result.returncode, result.stdout), (0, ""),
                         result.stderr)


if __name__ == "__main__":
    if debian_packages.MISSING:
        print(f"skipped: {debian_packages.MISSING}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
