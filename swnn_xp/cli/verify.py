"""`swnn verify`: check that a model folder is complete and unaltered."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli._common import counted, new_parser


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "verify",
        "check every file of a model by its checksum",
        "Reads a whole model, compares every file with its checksum and checks every number in it. "
        "The exit code is 2 if anything is wrong.",
        "swnn verify model",
    )
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp import load
    from swnn_xp.store import verify

    checked = verify(args.model)
    clf = load(args.model)  # intact files may still not be a model
    clf.model_.check()
    print(
        f"{args.model}: sound; {checked:,} bytes, {counted(clf.n_samples_fit_, 'row')}, "
        f"{clf.n_features_in_:,} features, {clf.n_labels_:,} labels"
    )
