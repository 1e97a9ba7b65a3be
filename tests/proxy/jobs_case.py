"""What the tests of jobs have in common: a cluster, daemons with an admin
port, and their HTTP."""

import http.client
import json
import os
import time

from proxy_case import DEADLINE_S, Proxy, ProxyCase, split_address

JSON = {"Content-Type": "application/json"}
ENDED = ("done", "cancelled", "failed")


class Api:
    """The /v1/ of one admin port."""

    def __init__(self, address):
        self.host, self.port = split_address(address)

    def raw(self, method, path, body=None, headers=None):
        """(code, Content-Type, bytes)."""
        link = http.client.HTTPConnection(self.host, self.port,
                                          timeout=DEADLINE_S)
        try:
            link.request(method, path, body,
                         JSON if headers is None else headers)
            reply = link.getresponse()
            return reply.status, reply.getheader("Content-Type"), reply.read()
        finally:
            link.close()

    def ask(self, method, path, body=None, headers=None):
        """(code, what the JSON says)."""
        text = body if body is None or isinstance(body, (str, bytes)) \
            else json.dumps(body)
        code, kind, answer = self.raw(method, path, text, headers)
        if kind != "application/json":
            raise AssertionError((code, kind, answer))
        return code, json.loads(answer)

    def start(self, to="wide", **more):
        """The new job."""
        code, job = self.ask("POST", "/v1/jobs", {"to": to, **more})
        if code != 201:
            raise AssertionError((code, job))
        return job

    def job(self, number):
        code, job = self.ask("GET", f"/v1/jobs/{number}")
        if code != 200:
            raise AssertionError((code, job))
        return job

    def command(self, number, word):
        return self.ask("POST", f"/v1/jobs/{number}/{word}")

    def metrics(self):
        """{name with labels: number}."""
        lines = self.raw("GET", "/metrics")[2].decode().splitlines()
        return {name: float(number) for name, number in
                (line.rsplit(" ", 1) for line in lines
                 if not line.startswith("#"))}


class JobsCase(ProxyCase):
    """A proxy with an admin port and no state folder, unless options name
    one."""

    options = ("--admin", ":0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = Api(cls.proxy.addresses[-1])

    def start_with(self, *options):
        """A daemon of this test; (it, its Api)."""
        self.started = getattr(self, "started", 0) + 1
        proxy = Proxy(self.path(f"proxy-{self.started}"), self.servers,
                      "--admin", ":0", *options)
        self.addCleanup(proxy.kill)
        return proxy, Api(proxy.addresses[-1])

    def wait_for(self, api, number, *states):
        """The job, once it is in one of these states (or has ended)."""
        end = time.monotonic() + DEADLINE_S
        while (job := api.job(number))["state"] not in (*states, *ENDED):
            self.assertLess(time.monotonic(), end, job)
            # Between two checks of what sends no event: the state decides.
            time.sleep(0.01)
        if states:
            self.assertIn(job["state"], states, job)
        return job

    def sums_up(self, job):
        objects = job["objects"]
        self.assertEqual(objects["selected"], sum(
            objects[name] for name in
            ("changed", "already", "gone", "failed", "left")), job)
        return objects

    def widths(self, prefix=""):
        """{key: width} of all objects whose keys begin so."""
        found = {}
        link = self.link()
        for width in ("narrow", "wide"):
            for line in link.lines(f"ers list {width} {prefix}".encode()):
                found[line.split()[1].decode()] = width
        link.socket.close()
        return found

    def state_dir(self):
        return os.path.join(self.work, "state")
