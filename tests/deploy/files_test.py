"""compose.yaml and the manifests for Kubernetes agree with themselves, with the
daemon and with the image.

  files_test.py ERSPROXY VERSION
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

ERSPROXY, VERSION = sys.argv[1:3]
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
DEPLOY = os.path.join(TOP, "deploy")
IMAGE = f"localhost/libers:{VERSION}"
DEADLINE_S = 60


def documents(*names):
    """{(kind, name): the object} of the files."""
    found = {}
    for name in names:
        with open(os.path.join(DEPLOY, "kubernetes", name),
                  encoding="utf-8") as file:
            for each in yaml.safe_load_all(file):
                found[each["kind"], each["metadata"]["name"]] = each
    return found


def pod(of):
    return of["spec"]["template"]["spec"]


def container(of):
    return pod(of)["containers"][0]


class KubernetesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.all = documents("memcached.yaml", "ersproxy.yaml")
        cls.servers = cls.all["StatefulSet", "memcached"]
        cls.proxy = cls.all["Deployment", "ersproxy"]
        cls.settings = yaml.safe_load(
            cls.all["ConfigMap", "ersproxy"]["data"]["ersproxy.yaml"])

    def test_selectors_find_the_pods(self):
        labels = {name: of["spec"]["template"]["metadata"]["labels"]
                  for name, of in (("memcached", self.servers),
                                   ("ersproxy", self.proxy))}
        for (kind, name), each in self.all.items():
            wanted = each.get("spec", {}).get("selector")
            if wanted:
                wanted = wanted.get("matchLabels", wanted)
                self.assertEqual(wanted, labels[name.removesuffix("-admin")],
                                 (kind, name))

    def test_ports_of_services_are_those_of_the_pods(self):
        listened = {each["name"]: each["containerPort"]
                    for each in container(self.proxy)["ports"]}
        for name in ("ersproxy", "ersproxy-admin"):
            for port in self.all["Service", name]["spec"]["ports"]:
                self.assertEqual(port["port"], listened[port["targetPort"]])
        self.assertEqual(
            {self.settings["listen"][0].rpartition(":")[2],
             self.settings["admin"].rpartition(":")[2]},
            {str(port) for port in listened.values()})

    def test_the_daemon_has_the_names_of_all_servers(self):
        service = self.all["Service", "memcached"]
        self.assertEqual(self.servers["spec"]["serviceName"],
                         service["metadata"]["name"])
        port = service["spec"]["ports"][0]["port"]
        self.assertEqual(self.settings["servers"],
                         [f"memcached-{i}.memcached:{port}" for i in
                          range(self.servers["spec"]["replicas"])])
        environment = {each["name"]: each.get("value")
                       for each in container(self.servers)["env"]}
        self.assertEqual(environment["ERS_IN_SYNC"],
                         f"$(POD).memcached:{port}")

    def test_probes_ask_whether_it_serves(self):
        probe = container(self.proxy)["readinessProbe"]["httpGet"]
        self.assertEqual(probe, {"path": "/readyz", "port": "admin"})

    def test_no_more_servers_go_at_a_time_than_may_be_out(self):
        budget = self.all["PodDisruptionBudget", "memcached"]["spec"]
        self.assertEqual(budget["maxUnavailable"], 1)
        self.assertGreaterEqual(self.settings["max_failures"],
                                budget["maxUnavailable"])
        # One node takes no more than one with it.
        apart = pod(self.servers)["affinity"]["podAntiAffinity"]
        rule, = apart["requiredDuringSchedulingIgnoredDuringExecution"]
        self.assertEqual(rule["topologyKey"], "kubernetes.io/hostname")
        # And one that is not in sync counts as one that is gone.
        probe = container(self.servers)["readinessProbe"]["exec"]["command"]
        self.assertEqual(probe[-1], "servers")

    def test_mounted_files_are_where_the_settings_say(self):
        mounted = {each["name"]: each["mountPath"]
                   for each in container(self.proxy)["volumeMounts"]}
        self.assertEqual(os.path.dirname(self.settings["admin_token_file"]),
                         mounted["token"])
        for setting in ("state_file", "state_dir"):
            self.assertEqual(os.path.dirname(self.settings[setting]),
                             mounted["state"])
        self.assertEqual(container(self.proxy)["args"][-1],
                         mounted["config"] + "/ersproxy.yaml")

    def test_the_daemon_takes_the_settings(self):
        # Those names and folders are elsewhere.
        with tempfile.TemporaryDirectory() as folder:
            token = os.path.join(folder, "token")
            with open(token, "w", encoding="utf-8") as file:
                file.write("0123456789abcdef\n")
            os.chmod(token, 0o600)
            here = {**self.settings, "admin_token_file": token,
                    "state_file": os.path.join(folder, "view"),
                    "state_dir": os.path.join(folder, "state"),
                    "servers": [f"127.0.0.{i}:11211" for i in range(1, 7)]}
            path = os.path.join(folder, "ersproxy.yaml")
            with open(path, "w", encoding="utf-8") as file:
                yaml.safe_dump(here, file)
            said = subprocess.run([ERSPROXY, "--check-config", path],
                                  capture_output=True, text=True, check=False,
                                  timeout=DEADLINE_S)
            self.assertEqual(said.returncode, 0, said.stderr)

    def test_images_are_of_this_version(self):
        for of in (self.servers, self.proxy):
            self.assertEqual(container(of)["image"], IMAGE)


class ComposeTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(DEPLOY, "compose.yaml")
        with open(cls.path, encoding="utf-8") as file:
            cls.services = yaml.safe_load(file)["services"]

    def test_the_daemon_has_the_names_of_all_servers(self):
        servers = [name for name in self.services if name != "ersproxy"]
        proxy = self.services["ersproxy"]
        self.assertEqual(proxy["environment"]["ERS_SERVERS"],
                         ",".join(f"{name}:11211" for name in servers))
        self.assertEqual(proxy["depends_on"], servers)

    def test_images_are_of_this_version(self):
        for service in self.services.values():
            self.assertEqual(service["image"], IMAGE)

    def test_compose_takes_it(self):
        if not shutil.which("docker-compose"):
            print("not run: there is no docker-compose")
            return
        said = subprocess.run(
            ["docker-compose", "-f", self.path, "config", "--quiet"],
            capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual((said.returncode, said.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
