"""The Debian packages of a build tree, for the tests that try them."""

import os
import shutil
import subprocess

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILDER = os.path.join(TOP, "debian", "build-packages")
DEADLINE_S = 300


def output(*command, **options):
    result = subprocess.run(command, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, timeout=DEADLINE_S, check=False,
                            **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with "
                             f"{result.returncode}:\n{result.stdout}")
    return result.stdout


def missing(**packages_of):
    """Why the test cannot run here, or None. {program: Debian package}"""
    for program, package in packages_of.items():
        if not shutil.which(program.replace("_", "-")):
            return (f"there is no {program.replace('_', '-')}, which is in "
                    f"Debian's package {package}")
    return None


MISSING = missing(dpkg_buildpackage="dpkg-dev", dh="debhelper",
                  chrpath="chrpath")


def build(tree, folder, **environment):
    """{name: path} of the packages, without those of debug symbols."""
    output(BUILDER, "--built", tree, "--output", folder, "--no-install",
           env={**os.environ, **environment})
    paths = [os.path.join(folder, name) for name in os.listdir(folder)
             if name.endswith(".deb") and "-dbgsym_" not in name]
    return {os.path.basename(path).partition("_")[0]: path for path in paths}


def field(package, name):
    return output("dpkg-deb", "--field", package, name).strip()


def files(package):
    """Paths of all but folders."""
    found = []
    for line in output("dpkg-deb", "--contents", package).splitlines():
        mode, *_, path = line.partition(" -> ")[0].split(maxsplit=5)
        if not mode.startswith("d"):
            found.append(path.removeprefix("."))
    return sorted(found)
