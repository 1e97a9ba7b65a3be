"""Which requests the admin port takes, and which user the daemon runs as."""

import contextlib
import http.client
import json
import os
import pwd
import socket
import subprocess
import unittest

from daemon_case import BAD_USAGE, DaemonCase, ERSPROXY
from proxy_case import DEADLINE_S

TOKEN = "0123456789abcdef" * 2
JSON = "application/json"


class AccessCase(DaemonCase):

    def token_file(self, text=TOKEN + "\n", mode=0o600, name="token"):
        path = self.file(name, text.encode())
        os.chmod(path, mode)
        return path

    def ask(self, admin, path, token=None, host=None, body=None):
        """(code, Content-Type, WWW-Authenticate, bytes)"""
        link = http.client.HTTPConnection(
            "127.0.0.1", int(admin.rsplit(":", 1)[1]), timeout=DEADLINE_S)
        self.addCleanup(link.close)
        headers = {} if token is None else {"Authorization": token}
        if host is not None:
            headers["Host"] = host
        if body is not None:
            headers["Content-Type"] = JSON
        link.request("GET" if body is None else "POST", path, body, headers)
        reply = link.getresponse()
        return (reply.status, reply.getheader("Content-Type"),
                reply.getheader("WWW-Authenticate"), reply.read())

    def code(self, *words, **more):
        return self.ask(*words, **more)[0]


class TokenTest(AccessCase):

    def serve(self, *words, settings="", address="0.0.0.0:0"):
        daemon = self.start("--config", self.config(settings), "--admin",
                            address, *words)
        return daemon, daemon.addresses[-1]

    def test_only_loopback_goes_without(self):
        config = self.config("")
        for address in ("0.0.0.0:7", "[::]:7", "192.0.2.1:7", "some.host:7"):
            with self.subTest(address=address):
                said = self.refused("--check-config", config, "--admin",
                                    address)
                self.assertIn(f"--admin: \"{address}\": whatever reaches it could "
                              "read, change and delete every value", said)
                self.assertIn("give admin_token_file", said)
        token = self.token_file()
        for words in ([":7"], ["127.0.0.2:7"], ["[::1]:7"], ["localhost:7"],
                      ["0.0.0.0:7", "--admin-token-file", token]):
            result = self.run_proxy("--check-config", config, "--admin",
                                    *words)
            self.assertEqual(result.returncode, 0, (words, result.stderr))

    def test_nothing_without_it(self):
        daemon, admin = self.serve("--admin-token-file", self.token_file())
        self.assertTrue(admin.startswith("0.0.0.0:"))
        for path in ("/status", "/metrics", "/v1/jobs", "/v1/x", "/x"):
            for token in (None, TOKEN, "Bearer", "Bearer ",
                          "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "0",
                          "Bearer " + 2 * TOKEN, "Basic " + TOKEN,
                          "Bearer " + TOKEN.upper(), "Bearer  " + TOKEN):
                with self.subTest(path=path, token=token):
                    code, kind, scheme, text = self.ask(admin, path, token)
                    self.assertEqual((code, kind, scheme),
                                     (401, JSON, "Bearer"))
                    self.assertEqual(list(json.loads(text)), ["error"])
                    self.assertIn(b"send the token" if token is None
                                  else b"not the token", text)
        self.assertEqual(self.code(admin, "/v1/jobs", body='{"to":"wide"}'),
                         401)
        self.assertEqual(
            json.loads(self.ask(admin, "/v1/jobs", "Bearer " + TOKEN)[3]),
            {"jobs": []})
        # That it is there is no secret.
        self.assertEqual(self.ask(admin, "/healthz")[::3], (200, b"ok\n"))
        self.assertNotIn(TOKEN, daemon.log())

    def test_all_with_it(self):
        _, admin = self.serve("--admin-token-file", self.token_file())
        for token in ("Bearer " + TOKEN, "bearer " + TOKEN):
            for path in ("/status", "/metrics", "/v1/jobs"):
                self.assertEqual(self.code(admin, path, token), 200)
        # Its name is its own matter then.
        self.assertEqual(self.code(admin, "/status", token, "some.host"), 200)
        self.assertEqual(
            self.code(admin, "/v1/jobs", token, body='{"to":"wide"}'), 201)

    def test_a_new_one_by_sighup(self):
        token = self.token_file()
        daemon, admin = self.serve(settings=f"admin_token_file: {token}\n")
        fresh = "another-token-of-mine"
        self.token_file(fresh)
        self.assertIn("reloaded", daemon.reload())
        self.assertEqual(self.code(admin, "/status", "Bearer " + TOKEN), 401)
        self.assertEqual(self.code(admin, "/status", "Bearer " + fresh), 200)
        self.token_file(TOKEN, mode=0o644)
        said = daemon.reload()
        self.assertIn("not reloaded", said)
        self.assertIn("admin_token_file", said)
        self.config("")  # none at all
        self.assertIn("not reloaded", daemon.reload())
        self.assertEqual(self.code(admin, "/status", "Bearer " + fresh), 200)
        self.assertEqual(self.code(admin, "/status"), 401)

    def test_files_that_are_none(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe, 0o600)
        cases = [(self.path("nowhere"), "No such file"),
                 (self.work, "not a regular file"), (pipe, "not a regular"),
                 (self.token_file(mode=0o644, name="a"), "others may use it"),
                 (self.token_file(mode=0o620, name="b"), "others may use it"),
                 (self.token_file("short\n", name="c"), "16 to 1024"),
                 (self.token_file(TOKEN + "\nmore\n", name="d"), "16 to"),
                 (self.token_file(TOKEN + " ", name="e"), "one line"),
                 (self.token_file("x" * 1025, name="f"), "16 to 1024")]
        config = self.config("")
        for path, why in cases:
            with self.subTest(path=path):
                said = self.refused("--check-config", config, "--admin", ":7",
                                    "--admin-token-file", path)
                self.assertIn(f"--admin-token-file: \"{path}\": ", said)
                self.assertIn(why, said)
                self.assertNotIn(TOKEN, said)
        for mode in (0o400, 0o440, 0o640):
            path = self.token_file("y" * 1024, mode=mode, name=oct(mode))
            self.assertEqual(self.run_proxy(
                "--check-config", config, "--admin", ":7",
                "--admin-token-file", path).returncode, 0)

    def test_ersctl_has_it(self):
        token = self.token_file()
        _, admin = self.serve("--admin-token-file", token)
        words = ["--proxy", f"127.0.0.1:{admin.rsplit(':', 1)[1]}", "job",
                 "list"]
        result = self.run_ctl(*words)
        self.assertEqual(result.returncode, BAD_USAGE, result)
        self.assertIn(b"send the token", result.stderr)
        self.ctl(*words, "--token-file", token)
        os.environ["ERS_ADMIN_TOKEN_FILE"] = token
        self.addCleanup(os.environ.pop, "ERS_ADMIN_TOKEN_FILE")
        self.ctl(*words)
        readable = self.token_file(mode=0o644, name="readable")
        result = self.run_ctl(*words, "--token-file", readable)
        self.assertIn(b"others may use it", result.stderr)


class HostTest(AccessCase):

    def test_a_page_of_another_name_reads_nothing(self):
        """As a browser asks whose page had its name lead to this machine."""
        daemon = self.start("--config", self.config(""), "--admin", ":0")
        admin = daemon.addresses[-1]
        for host in ("evil.example", "evil.example:80", "localhost.example",
                     "127.0.0.1.example:7", "[::1", "1"):
            for path in ("/status", "/metrics", "/v1/jobs"):
                with self.subTest(host=host, path=path):
                    code, kind, _, text = self.ask(admin, path, host=host)
                    if host == "[::1":  # its name is a number all the same
                        self.assertEqual(code, 200)
                        continue
                    self.assertEqual((code, kind), (403, JSON))
                    self.assertIn("error", json.loads(text))
        for host in ("localhost", "LOCALHOST:7", "127.0.0.1", "10.0.0.1:7",
                     "[::1]:7", "[::1]", ":7", ""):
            with self.subTest(host=host):
                self.assertEqual(self.code(admin, "/status", host=host), 200)
        self.assertEqual(self.code(admin, "/healthz", host="a.probe"), 200)


class UserTest(AccessCase):
    """A daemon that root starts. CI is root; elsewhere it says so."""

    name = "nobody"

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            print("not run: only root can become another user")
            self.skipTest("not root")
        self.user = pwd.getpwnam(self.name)
        # The user writes the port file and reports that it is ready.
        self.addCleanup(os.umask, os.umask(0))
        os.chmod(self.folder, 0o755)
        os.chmod(self.work, 0o755)

    def new_folder(self):
        folder = super().new_folder()
        os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        return folder

    def test_nothing_of_root_is_left(self):
        port = self.low_port()
        self.config(f"user: {self.name}\n"
                    f"state_dir: {self.new_folder()}/state\n"
                    f"state_file: {self.new_folder()}/view\n")
        daemon = self.start("--config", self.path("ersproxy.yaml"),
                            "--listen", f"127.0.0.1:{port}", "--admin", ":0")
        self.assertNotIn("root", daemon.log())
        threads = os.listdir(f"/proc/{daemon.process.pid}/task")
        self.assertGreater(len(threads), 3)
        user, group = str(self.user.pw_uid), str(self.user.pw_gid)
        groups = {str(g) for g in os.getgrouplist(self.name,
                                                  self.user.pw_gid)}
        for thread in threads:
            is_now = self.status(daemon.process.pid, thread)
            self.assertEqual(is_now["Uid"], [user] * 4)
            self.assertEqual(is_now["Gid"], [group] * 4)
            self.assertEqual(set(is_now["Groups"]), groups)
            for capabilities in ("CapEff", "CapPrm", "CapAmb"):
                self.assertEqual(int(is_now[capabilities][0], 16), 0)
        # It works, keeps what it keeps, and reloads.
        client = daemon.client()
        self.assertEqual(client.set(b"k", b"v" * 10000), b"STORED")
        admin = daemon.addresses[-1]
        self.assertEqual(
            self.code(admin, "/v1/jobs", body='{"to":"wide"}'), 201)
        self.assertEqual(self.owners(self.folder_of("state")), {user})
        self.assertEqual(self.owners(self.folder_of("view")), {user})
        with open(self.path("ersproxy.yaml"), "a", encoding="utf-8") as file:
            file.write("limits: {max_value_bytes: 10}\n")
        self.assertIn("reloaded", daemon.reload())
        self.assertIn(b"too large", client.set(b"k", b"v" * 11))
        daemon.stop()

    def test_what_the_user_cannot_read_is_reported(self):
        token = self.token_file()
        said = self.run_proxy("--config", self.config(""), "--user",
                              self.name, "--admin", ":0",
                              "--admin-token-file", token)
        self.assertEqual(said.returncode, BAD_USAGE)
        self.assertIn(f"as user {self.name}: \"{token}\": Permission denied",
                      said.stderr)
        config = self.config("")
        os.chmod(config, 0o600)
        daemon = self.start("--config", config, "--user", self.name)
        self.assertIn(f"{config}: user {self.name} cannot read it",
                      daemon.log())

    def test_users_that_are_none(self):
        config = self.config("")
        for words in (["--check-config", config], ["--config", config]):
            self.assertIn("--user: \"no-such-user\": there is no such user",
                          self.refused(*words, "--user", "no-such-user"))
        try:
            result = subprocess.run(
                [ERSPROXY, "--servers", self.servers, "--user", "root"],
                user=self.user.pw_uid, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=DEADLINE_S,
                check=False)
        except PermissionError:
            print(f"not run: {self.name} cannot reach {ERSPROXY}")
            return
        self.assertEqual(result.returncode, BAD_USAGE, result.stderr)
        self.assertIn("only a process that root starts", result.stderr)

    def test_root_is_warned(self):
        daemon = self.start("--config", self.config(""))
        self.assertIn("this runs as root", daemon.log())
        daemon = self.start("--config", self.config(""), "--user", "root")
        self.assertNotIn("this runs as root", daemon.log())

    @staticmethod
    def low_port():
        """One that only root may take."""
        for port in range(1023, 600, -1):
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    continue
        raise RuntimeError("no port below 1024 is free")

    @staticmethod
    def status(process, thread):
        with open(f"/proc/{process}/task/{thread}/status",
                  encoding="utf-8") as file:
            pairs = (line.split(":", 1) for line in file)
            return {name: value.split() for name, value in pairs}

    def folder_of(self, name):
        for folder, _, _ in os.walk(self.work):
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
        raise AssertionError(f"{name} is nowhere")

    @staticmethod
    def owners(path):
        found = {str(os.stat(path).st_uid)}
        for folder, names, files in os.walk(path):
            for name in names + files:
                # One that is being written gets its name at the end.
                gone = FileNotFoundError if name.endswith(".new") else ()
                with contextlib.suppress(gone):
                    found.add(str(os.stat(os.path.join(folder, name)).st_uid))
        return found


if __name__ == "__main__":
    unittest.main()
