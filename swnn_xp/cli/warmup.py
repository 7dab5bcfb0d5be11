"""`swnn warmup`: compile all kernels now, so that no later process has to."""

from __future__ import annotations

import argparse
import time

from swnn_xp.cli._common import new_parser


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    new_parser(
        commands,
        "warmup",
        "compile the kernels now instead of on first use",
        "Compiles all kernels and keeps them, so that no later process waits for them. Takes a "
        "minute or two the first time; useful when an image or a machine is set up.",
        "swnn warmup",
    ).set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_kernels import warmup

    started = time.perf_counter()
    print("compiling the kernels ...", flush=True)
    folder = warmup(lambda step: print(f"  {step}", flush=True))
    print(f"done in {time.perf_counter() - started:.1f} s")
    if folder is None:
        print("no folder could be written: every process compiles the kernels it uses")
    else:
        print(f"kept under {folder}")
