# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, for tests of pages; by hand it takes a picture of a page:

python3 see/rclrt_tools/test/browsers.py PAGE FILE.png 1200x700 [CALLBACK]
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60.0
# The contrast of each piece of text with what is behind it, by WCAG 2; the worst one.
WORST_CONTRAST = """(() => {
  const numbers = (color) => (color.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let worst = [21, ""];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode, element = text.parentElement;
    if (!text.data.trim() || !element.checkVisibility({visibilityProperty: true})) continue;
    if (!element.getClientRects().length || /script|style/i.test(element.tagName)) continue;
    let behind = element, color = [0, 0, 0, 0];
    while (behind && (color = numbers(getComputedStyle(behind).backgroundColor))[3] === 0)
      behind = behind.parentElement;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(color)].sort();
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < worst[0]) worst = [contrast, element.className + ": " + text.data.trim()];
  }
  return worst;
})()"""


def chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page at a time.

    errors: What a page has written to the console as an error, and what it has thrown.
    requests: Everything that pages have asked for.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._answers: dict[int, Any] = {}
        self._rest = b""
        to_it, self._out = os.pipe()
        self._in, from_it = os.pipe()
        options = [
            "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}", "--force-color-profile=srgb",
            *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank",
        ]  # fmt: skip
        # It reads from 3 and writes to 4.
        command = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", str(to_it), str(from_it), program, *options],
            pass_fds=(to_it, from_it),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(f"{domain}.enable")

    _session = ""

    def close(self) -> None:
        try:
            self._session = ""
            self.call("Browser.close")
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._out)
            os.close(self._in)

    def call(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """Return what the browser answers."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while self._number not in self._answers:
            self._read(end)
        answer = self._answers.pop(self._number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self, end: float) -> None:
        if not select.select([self._in], [], [], max(0, end - time.monotonic()))[0]:
            raise TimeoutError("the browser does not answer")
        data = os.read(self._in, 1 << 20)
        if not data:
            raise RuntimeError("the browser has ended")
        *messages, self._rest = (self._rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            elif message["method"] == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(message["params"]["exceptionDetails"]))
            elif message["method"] == "Log.entryAdded":
                self.errors.append(json.dumps(message["params"]["entry"]))
            elif message["method"] == "Runtime.consoleAPICalled":
                self.errors.append(json.dumps(message["params"]["args"]))
            elif message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])

    def size(self, width: int, height: int, dark: bool = False) -> None:
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", shape)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, page: Path) -> None:
        self.call("Page.navigate", {"url": page.absolute().as_uri()})
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def evaluate(self, text: str) -> Any:
        """Return the value of JavaScript; of a promise, what comes of it."""
        parameters = {"expression": text, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", parameters)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def worst_contrast(self) -> tuple[float, str]:
        """Return the contrast of the text that is hardest to read, and that text."""
        contrast, text = self.evaluate(WORST_CONTRAST)
        return contrast, text

    def hard_to_read(self, page: Path, width: int, dark: bool) -> list[str]:
        """Return what cannot be read in a window of this width, with all that folds unfolded."""
        self.size(width, 800, dark)
        self.open(page)
        unfold = "document.querySelectorAll('details').forEach((one) => (one.open = true))"
        self.evaluate(unfold)
        wide = self.evaluate("document.documentElement.scrollWidth")
        contrast, where = self.worst_contrast()
        wrong = [f"{wide} pixels wide"] if wide > width else []
        return wrong + ([f"contrast {contrast:.2f} of {where!r}"] if contrast < 4.5 else [])

    def until(self, text: str) -> Any:
        end = time.monotonic() + PATIENCE_S
        while not (found := self.evaluate(text)):
            if time.monotonic() > end:
                raise TimeoutError(f"this does not become true: {text}")
            time.sleep(0.02)
        return found

    def picture(self, file: Path) -> None:
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        file.write_bytes(base64.b64decode(data))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Yield one, or skip the test. Fails if a page has written an error or loaded anything."""
    import pytest

    program = chromium()
    if program is None:
        pytest.skip("there is no chromium: install the package of that name")
    one = Browser(program, folder)
    try:
        yield one
        assert one.errors == []
        assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []
    finally:
        one.close()


def main(page: str, picture: str, size: str, callback: str = "") -> None:
    program = chromium()
    if program is None:
        sys.exit("there is no chromium: install the package of that name")
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, Path(folder))
        try:
            width, height = map(int, size.split("x"))
            browser.size(width, height)
            browser.open(Path(page))
            if browser.evaluate("typeof items !== 'undefined'"):
                browser.until("document.body.dataset.whole")
                name = json.dumps(callback)
                browser.evaluate(f"{name} && choose(items.find((one) => one.name === {name}))")
            browser.evaluate("new Promise((done) => setTimeout(done, 500))")
            browser.picture(Path(picture))
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
