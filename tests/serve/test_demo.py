"""`swnn demo` in a terminal: a page with an example, until Ctrl-C."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from swnn_xp.cli.demo import EXAMPLE

from .browser import CHROMIUM, open_page
from .conftest import PATIENCE
from .test_page import SIZES, check_calm


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *command, **environment):
        self._end, inner = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=os.environ | environment
        )
        os.close(inner)

    def read_until(self, mark):
        """Read until a line with the mark is complete, or until the end; the line."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            *lines, _ = self.text.replace("\r\n", "\n").split("\n")
            if found := [line for line in lines if mark in line]:
                return found[0]
            try:
                self.text += os.read(self._end, 65536).decode()
            except OSError:  # the program has ended
                break
        raise AssertionError(f"no {mark!r} in {self.text!r}")

    def stop(self, how):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    terminal = Terminal(sys.executable, "-m", "swnn_xp.cli.main", "demo", TMPDIR=str(folder))
    terminal.folder = folder
    try:
        terminal.url = terminal.read_until("serving on http://127.0.0.1:").split()[-1]
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
@pytest.mark.parametrize("size", SIZES)
def test_the_page_begins_with_an_answer(terminal, size, tmp_path, shot):
    width, height, phone = SIZES[size]
    with open_page(terminal.url, tmp_path / "profile") as page:
        page.url = terminal.url
        page.resize(width, height, phone=phone)
        page.wait_for("document.querySelectorAll('#labels > li').length === 5")
        assert page.run("words.value") == EXAMPLE
        shown = page.run("[...document.querySelectorAll('summary .name')].map(e => e.textContent)")
        assert {"use::gameplaying", "role::program"} <= set(shown)
        assert page.run("message.textContent") == ""
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        shot(page, f"demo-{size}")
        check_calm(page)


def test_the_address_is_printed_and_ctrl_c_ends_it(terminal):
    assert "Ctrl-C ends it" in terminal.text
    with urllib.request.urlopen(f"{terminal.url}/v1/model", timeout=PATIENCE) as answer:
        about = json.load(answer)
    assert about["text"]
    assert about["example"] == EXAMPLE
    assert list(terminal.folder.iterdir()), "the model"
    assert terminal.stop(signal.SIGINT) == 0
    assert list(terminal.folder.iterdir()) == []
    assert "Traceback" not in terminal.text
