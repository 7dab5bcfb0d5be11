"""`swnn backends`: what can compute here, and why the rest can't."""

from __future__ import annotations

import argparse

from swnn_xp.backends import BACKENDS


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("backends", help="what can compute here, and why the rest can't")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    for backend in BACKENDS.values():
        reason = backend.missing()
        print(f"{backend.name:<10} {'usable' if reason is None else 'no'}: {backend.summary}")
        print(f"{'':<10} devices: {', '.join(backend.devices)}; takes {', '.join(backend.accepts)}")
        if reason is not None:
            print(f"{'':<10} {reason}")
