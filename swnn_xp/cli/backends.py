"""`swnn backends`: what can compute here, and why the rest can't."""

from __future__ import annotations

import argparse

from swnn_xp.backends import BACKENDS
from swnn_xp.cli._common import new_parser


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    new_parser(
        commands,
        "backends",
        "what can compute here, and why the rest can't",
        "Lists the backends with their devices and the arrays they take, and says what the others "
        "lack. All give the same answers.",
        "swnn backends",
    ).set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    for backend in BACKENDS.values():
        reason = backend.missing()
        print(f"{backend.name:<10} {'usable' if reason is None else 'no'}: {backend.summary}")
        print(f"{'':<10} devices: {', '.join(backend.devices)}; takes {', '.join(backend.accepts)}")
        if reason is not None:
            print(f"{'':<10} {reason}")
