"""`swnn score`: the former name of `swnn predict`, kept for one release."""

from __future__ import annotations

import argparse
import sys

from swnn_xp.cli import predict


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser; without a help text, it is not listed."""
    parser = commands.add_parser(
        "score",
        description="Deprecated: use `swnn predict`.",
        epilog="example:\n  swnn predict model new.txt -o labels.tsv",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    predict.add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run `swnn predict`."""
    print("swnn: `swnn score` is deprecated, use `swnn predict`", file=sys.stderr)
    predict.run(args)
