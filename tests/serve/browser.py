"""Headless Chromium, driven over its own protocol: no further package is needed for that."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
import urllib.request

from websockets.sync.client import connect

from .conftest import PATIENCE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


class Page:
    """One tab."""

    def __init__(self, socket):
        self._socket, self._numbers = socket, itertools.count(1)
        self.events = []

    def call(self, method, **params):
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def run(self, code):
        """Value of a JavaScript expression; promises are awaited."""
        found = self.call(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, code, seconds=PATIENCE):
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(code):
            assert time.monotonic() < until, f"never true: {code}"
            time.sleep(0.05)

    def resize(self, width, height, *, phone):
        size = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1}
        self.call("Emulation.setDeviceMetricsOverride", **size, mobile=phone)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def open_page(url, profile):
    """Open a page in a browser of its own."""
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    port_file = profile / "DevToolsActivePort"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            until = time.monotonic() + PATIENCE
            while not (port_file.exists() and port_file.read_text().count("\n")):
                assert browser.poll() is None, "the browser has ended"
                assert time.monotonic() < until, "the browser does not start"
                time.sleep(0.05)
            port = port_file.read_text().split("\n")[0]
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/json", timeout=PATIENCE
            ) as listed:
                tab = next(tab for tab in json.load(listed) if tab["type"] == "page")
            with connect(
                tab["webSocketDebuggerUrl"],
                max_size=None,
                open_timeout=PATIENCE,
                ping_timeout=PATIENCE,
            ) as socket:
                page = Page(socket)
                for domain in ("Page", "Network", "Runtime", "Log"):
                    page.call(f"{domain}.enable")
                page.call("Page.navigate", url=url)
                page.wait_for("document.readyState === 'complete'")
                yield page
        finally:
            browser.terminate()
