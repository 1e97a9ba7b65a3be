"""The image of containers is small, and its programs run with nothing but it.

  image_test.py BUILD VERSION

Exits with 77 where that cannot be tried."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD, VERSION = sys.argv[1:3]
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILDER = os.path.join(TOP, "deploy", "container", "build-image")
MOST_BYTES = 60_000_000
USER = "65532"
# What starts containers mounts this, too.
INSIDE = ('mount -t proc proc "$1/proc" && '
          f'exec chroot --userspec={USER}:{USER} "$@"')
DEADLINE_S = 120


def run(*command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False, timeout=DEADLINE_S)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with "
                             f"{result.returncode}:\n{result.stdout}")
    return result.stdout


class ImageTest(unittest.TestCase):

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="ers-image-test-")
        self.addCleanup(shutil.rmtree, self.work)

    def test_programs_run_with_nothing_else(self):
        root = os.path.join(self.work, "root")
        run(BUILDER, "--built", BUILD, "--root-only", root)
        size = sum(os.lstat(os.path.join(folder, name)).st_size
                   for folder, _, names in os.walk(root) for name in names)
        self.assertLess(size, MOST_BYTES)
        inside = ("unshare", "--mount", "sh", "-c", INSIDE, "sh", root)
        for program in ("ersproxy", "ersctl"):
            self.assertIn(VERSION, run(*inside, f"/usr/bin/{program}",
                                       "--version"))
        self.assertIn("memcached", run(*inside, "/usr/bin/memcached",
                                       "--version"))
        self.assertIn("rep:2", run(*inside, "/usr/bin/ersctl", "advise",
                                   "--object-size", "1048576",
                                   "--mbit", "200"))
        with open(os.path.join(root, "etc", "ersproxy.yaml"), "w",
                  encoding="utf-8") as file:
            servers = ", ".join(f"127.0.0.{i}:11211" for i in range(1, 7))
            file.write(f"servers: [{servers}]\n"
                       "state_file: /var/lib/ersproxy/view\n")
        run(*inside, "/usr/bin/ersproxy", "--check-config",
            "/etc/ersproxy.yaml")

    def test_the_archive_starts_the_daemon_as_its_user(self):
        if not shutil.which("buildah"):
            print("not run: there is no buildah")
            return
        archive = os.path.join(self.work, "image.tar")
        run(BUILDER, "--built", BUILD, "--output", archive)
        self.assertLess(os.path.getsize(archive), MOST_BYTES)

        def blob(image, digest):
            name = "blobs/" + digest.replace(":", "/")
            return json.load(image.extractfile(name))
        with tarfile.open(archive) as image:
            index = json.load(image.extractfile("index.json"))
            manifest = blob(image, index["manifests"][0]["digest"])
            config = blob(image, manifest["config"]["digest"])["config"]
            owners = {}
            for layer in manifest["layers"]:
                file = image.extractfile("blobs/" +
                                         layer["digest"].replace(":", "/"))
                with tarfile.open(fileobj=file) as files:
                    owners.update((member.name.strip("./"), member.uid)
                                  for member in files)
        # It keeps its state there.
        self.assertEqual(owners["var/lib/ersproxy"], int(USER))
        self.assertEqual(owners["run/ersproxy"], int(USER))
        self.assertEqual(config["User"], f"{USER}:{USER}")
        self.assertEqual(config["Cmd"][0], "/usr/bin/ersproxy")
        self.assertEqual(index["manifests"][0]["annotations"]
                         ["org.opencontainers.image.ref.name"],
                         f"localhost/libers:{VERSION}")


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("memcached"):
        print("skipped: it takes root, to start programs in another root, and "
              "memcached")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
