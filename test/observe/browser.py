# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drives a headless Chromium over a pipe, in the DevTools protocol, with the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
SECONDS = 60.0
# The browser reads commands from descriptor 3 and writes answers to 4.
WIRE = """import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 50) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page of a browser; `events` are all that it reported."""

    def __init__(self, commands: int, answers: int) -> None:
        self.commands, self.answers = commands, answers
        self.events: list[dict[str, Any]] = []
        self.session: str | None = None
        self.number = 0
        self.unread = b""

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"the browser does not answer; so far {self.unread[:200]!r}"
            data = os.read(self.answers, 1 << 20)
            assert data, "the browser has ended"
            self.unread += data
        message, _, self.unread = self.unread.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, path: Path, width: int = 1600, height: int = 1000, dark: bool = False) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.send("Emulation.setEmulatedMedia", features=[scheme, calm])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && window.fusionPage !== undefined")

    def get(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited where it is a promise."""
        found = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.get(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.get(
            "new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(() => f(1))))"
        )

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)
        self.settle()

    def screenshot(self) -> bytes:
        self.settle()
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def complaints(self) -> list[dict[str, Any]]:
        """Exceptions of the page's script, and what the browser logged as an error."""
        return [
            event
            for event in self.events
            if event["method"] == "Runtime.exceptionThrown"
            or (
                event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
            )
        ]

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]


@contextmanager
def browse(profile: Path) -> Iterator[Page]:
    """A browser with an empty profile, ended at the end."""
    browser = find_browser()
    assert browser is not None
    their_commands, commands = os.pipe()
    answers, their_answers = os.pipe()
    numbers = [str(their_commands), str(their_answers)]
    flags = [*FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        [sys.executable, "-ISc", WIRE, *numbers, browser, *flags],
        pass_fds=(their_commands, their_answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_commands)
    os.close(their_answers)
    page = Page(commands, answers)
    try:
        yield page
        page.session = None
        page.send("Browser.close")
        process.wait(SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(commands)
        os.close(answers)
