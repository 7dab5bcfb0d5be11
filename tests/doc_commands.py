"""`swnn` without starting Python each time: a process that has imported everything forks.

Importing takes longer than most commands of the pages. A process that is told where
(``python commands.py SOCKET MODELS``) waits at SOCKET; `STUB`, as `swnn` on the path, hands over
its arguments, environment, folder and open files, passes on signals, and ends as the fork does.

The same training is done once: pages that fit the same file with the same options get a copy of the
model under MODELS, which all test processes share.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import shutil
import socket
import sys
from pathlib import Path

STUB = """#!{python} -IS
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(call).to_bytes(8, "little")], [0, 1, 2])
server.sendall(call)
child = int.from_bytes(server.recv(8, socket.MSG_WAITALL), "little")
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(child, number))
status = server.recv(1)
sys.exit(status[0] if status else 1)
"""


def serve(address: str, models: Path) -> None:
    import swnn_xp.backends.numba_
    import swnn_xp.cli.main  # noqa: F401

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        while True:
            caller, _ = server.accept()
            if os.fork() == 0:
                server.close()
                answer(caller, models)
            caller.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def answer(caller: socket.socket, models: Path) -> None:
    """Run the command of a caller, in a process of its own, and end."""
    status = 1
    try:
        size, files, *_ = socket.recv_fds(caller, 8, 3)
        call = caller.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL)
        argv, folder, env = json.loads(call)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        caller.sendall(os.getpid().to_bytes(8, "little"))
        status = run(argv, models)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        caller.send(bytes([status % 256]))
        os._exit(0)


def run(argv: list[str], models: Path) -> int:
    from swnn_xp.cli.main import main

    if argv[0] != "fit" or "-o" not in argv:
        return main(argv)
    at = argv.index("-o") + 1
    options = argv[: at - 1] + argv[at + 1 :]
    options += map(str, sorted(Path().glob("*_map.txt")))  # names beside the data
    used = [Path(each).read_bytes() if Path(each).is_file() else each.encode() for each in options]
    key = hashlib.sha256(b"\0".join(hashlib.sha256(each).digest() for each in used)).hexdigest()
    kept = models / key
    with (models / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with contextlib.redirect_stdout(io.StringIO()) as said:
                if status := main(argv):
                    print(said.getvalue(), end="", file=sys.__stdout__)
                    return status
            # The first word of what it says is the name of the model.
            (models / f"{key}.txt").write_text(said.getvalue().removeprefix(argv[at]))
            shutil.copytree(argv[at], kept)
        elif not Path(argv[at]).exists():
            shutil.copytree(kept, argv[at])
        else:
            return main(argv)
    print(argv[at] + (models / f"{key}.txt").read_text(), end="")
    return 0


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
