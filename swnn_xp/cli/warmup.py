"""`swnn warmup`: compile all kernels now, so that no later process has to."""

from __future__ import annotations

import argparse
import time


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("warmup", help="compile the kernels now instead of on first use")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_kernels import warmup

    started = time.perf_counter()
    print("compiling the kernels ...", flush=True)
    folder = warmup()
    print(f"done in {time.perf_counter() - started:.1f} s")
    if folder is None:
        print("no folder could be written: every process compiles the kernels it uses")
    else:
        print(f"kept under {folder}")
