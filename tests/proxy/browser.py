"""A headless Chromium that a test steers, over two pipes: nothing but Debian's
package is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from proxy_case import DEADLINE_S

CHROMIUM = shutil.which("chromium")
MISSING = None if CHROMIUM else (
    "there is no chromium, which is in Debian's package chromium")


class Browser:
    """One page of one process. What it complains of is kept in `complaints`."""

    def __init__(self, width=1240, height=1000):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        command = [
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update",
            f"--user-data-dir={self.folder}", f"--window-size={width},{height}",
            "--remote-debugging-pipe", "about:blank"]
        # It reads its orders from descriptor 3 and answers to 4. Debian's sh
        # knows no descriptors above 9.
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", 'exec "$@" 3<&"$0" 4>&"$FROM"',
             str(to_browser), *command], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(to_browser, from_browser),
            env={**os.environ, "FROM": str(from_browser)})
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session = b"", 0, None
        self.complaints, self.loaded = [], False
        page = next(t for t in self._pages() if t["type"] == "page")
        self.session = self.order("Target.attachToTarget", flatten=True,
                                  targetId=page["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.order(domain + ".enable")

    def _pages(self):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            pages = self.order("Target.getTargets")["targetInfos"]
            if any(page["type"] == "page" for page in pages):
                return pages
        raise AssertionError("chromium has opened no page")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.rest:
            if not select.select([self.read_end], [], [], DEADLINE_S)[0]:
                raise AssertionError("chromium does not answer")
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise AssertionError("chromium has ended")
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def _note(self, message):
        about = message.get("params", {})
        self.loaded |= message.get("method") == "Page.loadEventFired"
        if message.get("method") == "Log.entryAdded":
            entry = about["entry"]
            if entry["source"] != "network":  # a daemon that is gone
                self.complaints.append(entry["text"])
        elif message.get("method") == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(
                details.get("exception", {}).get("description")
                or details["text"])

    def order(self, method, **parameters):
        """Of the DevTools protocol; returns its result."""
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.write_end, json.dumps(order).encode() + b"\0")
        while (answer := self._message()).get("id") != self.number:
            self._note(answer)
        if "error" in answer:
            raise AssertionError((method, answer["error"]))
        return answer["result"]

    def open(self, url):
        """Returns once the page and its script are there."""
        self.loaded = False
        self.order("Page.navigate", url=url)
        while not self.loaded:
            self._note(self._message())

    def prefer(self, scheme):
        """light or dark."""
        self.order("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width, height):
        self.order("Emulation.setDeviceMetricsOverride", width=width,
                   height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script):
        """The value of an expression, awaited if it is a promise."""
        result = self.order("Runtime.evaluate", expression=script,
                            awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def text(self, selector):
        """What a reader reads there; None where it is not shown."""
        return self.run(
            f"(e => e && e.checkVisibility() ? e.innerText : null)"
            f"(document.querySelector({json.dumps(selector)}))")

    def press(self, label):
        """A button, by its name for those that do not see it."""
        found = self.run(
            "(b => b && !b.disabled ? (b.focus(), b.click(), true) : false)("
            "[...document.querySelectorAll('button')].find(b => "
            "(b.getAttribute('aria-label') || b.innerText) === "
            f"{json.dumps(label)}))")
        if not found:
            raise AssertionError(f"there is no button {label} to press")

    def picture(self, path, whole=True):
        """PNG."""
        data = self.order("Page.captureScreenshot", format="png",
                          captureBeyondViewport=whole, **(
                              {"clip": self._all()} if whole else {}))["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def _all(self):
        size = self.order("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"],
                "height": size["height"], "scale": 1}
