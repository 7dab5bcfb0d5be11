"""Compile the searches in another process while this one answers by other means.

The pruned search takes ten seconds to compile. numba compiles one function at a time in a process
and holds Python's lock meanwhile, so a thread would stall the answers, and could not be ended with
the program. A process of its own does neither: it writes the code to the disk, from where this
process and all later ones load it. It goes on when this process ends, so that commands that answer
in a second do not leave the work to the next one.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from swnn_kernels._numba import IS_FULL
from swnn_kernels._numba.caching import is_kept
from swnn_kernels.answer.kernels import answer_exhaustive, answer_pruned

_KERNEL = answer_pruned if IS_FULL else answer_exhaustive
_PROGRAM = "swnn_kernels.compile_searches"
_NOTE = (
    "compiling the fast search in the background, once on this machine; "
    "until it is ready, answers are the same but slower"
)


class BackgroundCompiler:
    """Knows whether the search is compiled, and has it compiled if not."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Start afresh: a fork can't wait for the process that its parent has started."""
        self._lock = threading.Lock()
        self._done = False
        self._child: subprocess.Popen[bytes] | None = None

    def is_ready(self) -> bool:
        """Whether to search with the kernels now; if not, they are being compiled.

        True as well where nothing can compile them but the search itself.
        """
        if self._done:
            return True
        with self._lock:
            if self._child is not None:
                self._done = self._child.poll() is not None or is_kept(_KERNEL) is not False
            else:
                self._done = _needs_no_start() or not self._start()
            return self._done

    def wait(self) -> None:
        """Wait until the kernels are there: what measures them does."""
        while not self.is_ready():
            time.sleep(0.05)

    def _start(self) -> bool:
        """Start the process; False if it can't be."""
        if not Path(sys.executable or "").name.startswith("python"):
            return False  # an application with Python inside: it would start itself again
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        command = [sys.executable, "-P", "-m", _PROGRAM, _KERNEL.stats.cache_path]
        try:
            child = subprocess.Popen(
                command, env=os.environ | {"PYTHONPATH": path}, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError:
            return False
        # It may outlive this process: without a return code, Popen would warn of that.
        atexit.register(setattr, child, "returncode", 0)
        self._child = child
        if sys.stderr is not None and sys.stderr.isatty():
            print(_NOTE, file=sys.stderr)
        return True


def _needs_no_start() -> bool:
    if _KERNEL.signatures or os.environ.get("SWNN_BACKGROUND_COMPILE") == "0":
        return True
    return is_kept(_KERNEL) is not False


SEARCHES = BackgroundCompiler()
