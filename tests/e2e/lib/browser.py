# SPDX-License-Identifier: Apache-2.0
"""A real Chromium without a window, driven through two pipes; the standard library is enough.

    with Browser.start() as browser:          # None where there is no Chromium
        browser.open(path)                    # from disk; the network is off
        browser.js("document.title")
        browser.key("ArrowRight"); browser.screenshot("page.png")
        browser.page_errors                   # console errors, exceptions, requests

DevTools messages are JSON texts that end in a NUL, written to the browser's descriptor 3 and read
from its descriptor 4 (--remote-debugging-pipe)."""
import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-extensions",
         "--disable-sync", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
         # Also a page that the machine was too busy to show yet is drawn, and its timers run.
         "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
         "--disable-backgrounding-occluded-windows", "--disable-breakpad", "--password-store=basic"]
# What DevTools answers while one page makes room for another.
NAVIGATION_ERRORS = ("navigated or closed", "context was destroyed", "Cannot find context", "default execution context")
KEYS = {"Enter": (13, "\r"), "Tab": (9, None), "Escape": (27, None), "Home": (36, None), "End": (35, None),
        "ArrowLeft": (37, None), "ArrowUp": (38, None), "ArrowRight": (39, None), "ArrowDown": (40, None),
        " ": (32, " ")}


def executable():
    """The Chromium to use, or None. CHROMIUM in the environment comes first."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program, folder):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def descriptors():  # both moved away first: either may be 3 or 4 already
            ends = [os.dup(to_read), os.dup(to_write)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._log = pathlib.Path(folder) / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
                                             preexec_fn=descriptors, close_fds=False, start_new_session=True,
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._last, self._session = b"", 0, None
        self.page_errors, self.requests = [], []
        self._session = self.call("Target.attachToTarget", targetId=self._first_page(), flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.size(1440, 900)

    @classmethod
    @contextlib.contextmanager
    def start(cls):
        program = executable()
        if program is None:
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as folder:
            browser = cls(program, folder)
            try:
                yield browser
            finally:
                browser._close()

    def _first_page(self, timeout=600):
        """The page the browser opens itself. One of our own would lie behind it where that one comes later."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.02)
        raise AssertionError(f"the browser opened no page in {timeout} s: {self._log_tail()}")

    def _log_tail(self):
        return self._log.read_bytes()[-2000:].decode(errors="replace")

    def _close(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)  # clock: then by force
        os.close(self._write)
        os.close(self._read)

    def _message(self, end):
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return None
            data = os.read(self._read, 1 << 20)
            assert data, f"the browser ended: {self._log_tail()}"
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, timeout=600, **params):
        """The answer to a DevTools method."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        end = time.monotonic() + timeout
        while (response := self._message(end)) is not None:
            if response.get("id") == message["id"]:
                assert "error" not in response, f"{method}: {response['error']}"
                return response["result"]
            self._event(response)
        raise AssertionError(f"{method}: no answer in {timeout} s")

    def _event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            thrown = params["exceptionDetails"]
            self.page_errors.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.page_errors.append(f"console.{params['type']}: {params['args']}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.page_errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def wait(self, expression, timeout=600):
        """Waits until the expression is true, and says whether it became so; an error in it is not yet true."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                if self.js(f"(() => {{ try {{ return !!({expression}); }} catch (_) {{ return false; }} }})()"):
                    return True
            except AssertionError as problem:
                if not any(words in str(problem) for words in NAVIGATION_ERRORS):
                    raise
            time.sleep(0.02)
        return False

    def drawn(self):
        """Waits until what was changed so far is laid out and drawn, and those who observe sizes were reported."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def js(self, expression):
        """The value of an expression, promises awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"].get("exception", result)
        return result["result"].get("value")

    def open(self, path, fragment=""):
        """Opens a file from disk and waits for its load event."""
        address = pathlib.Path(path).resolve().as_uri()
        for url in ("about:blank", address + fragment):  # the same address again would not load it again
            response = self.call("Page.navigate", url=url)
            assert "errorText" not in response, f"{url}: {response['errorText']}"
        assert self.wait(f"location.href.startsWith({json.dumps(address)}) && document.readyState === 'complete'"), address

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        assert self.wait(f"innerWidth === {width} && innerHeight === {height}"), (width, height)

    def media(self, **features):
        """prefers_color_scheme="dark", prefers_reduced_motion="reduce", …"""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def key(self, name, shift=False):
        """Presses and releases one key."""
        code, text = KEYS.get(name, (ord(name[0].upper()), name))
        given = {"key": name, "code": name if len(name) > 1 else "", "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **given, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def screenshot(self, path, whole=False):
        response = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, optimizeForSpeed=False)
        pathlib.Path(path).write_bytes(base64.b64decode(response["data"]))
