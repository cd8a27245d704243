"""A headless Chromium, spoken to in the DevTools protocol over a pair of pipes: no driver, no further package."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--no-first-run", "--remote-debugging-pipe"),
    *(f"--disable-{what}" for what in ("gpu", "quic", "dev-shm-usage", "sync")),
    *(f"--disable-{what}" for what in ("background-networking", "component-update")),
)


class Browser:
    """One tab of a browser with a new profile. Use it as a context manager.

    ``problems`` collects what went wrong on the page: exceptions, error messages, resources that could not be loaded.
    """

    def __init__(self, profile: Path):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            pytest.skip("no Chromium on PATH; Debian: apt-get install chromium")
        # The browser reads commands from descriptor 3 and writes answers to 4.
        command_end, self._commands = os.pipe()
        self._answers, answer_end = os.pipe()
        # Out of the way of 3 and 4, which the child's copies are given.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (command_end, answer_end)]
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)),
        )
        for end in (command_end, answer_end, *ends):
            os.close(end)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        self.problems: list[str] = []

    def __enter__(self) -> Browser:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != number:
            self._notice(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, page: Path) -> None:
        """Open a file and wait until it and its images are loaded."""
        self._events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._notice(self._receive())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        text = {"Enter": "\r"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of an element, scrolled into view."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        """Show the page on a screen of another size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._answers, 1 << 16)
            if not piece:
                raise RuntimeError("the browser ended")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _notice(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        details = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.problems.append(str(details["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.problems.append(details["entry"]["text"])
        elif event["method"] == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.problems.append(str(details["args"]))
        elif event["method"] == "Network.loadingFailed":
            self.problems.append(details["errorText"])
