"""`swnn explain`: why a row gets its labels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from swnn_xp.cli._common import DATA_HELP, add_model, add_strict, open_model, read_data
from swnn_xp.cli._features import add_feature_checks, check_features


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("explain", help="show the neighbours behind a row's labels")
    add_model(parser)
    parser.add_argument("file", type=Path, nargs="?", help=DATA_HELP)
    parser.add_argument("--row", type=int, metavar="I", help="row of the file, from 0")
    parser.add_argument("--text", help="a text instead of a row, for a model fitted on texts")
    parser.add_argument("--label", help="name or id (default: the best k labels)")
    parser.add_argument("-k", type=int, default=3, help="labels to explain (3)")
    add_feature_checks(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    by_row = args.file is not None and args.row is not None
    if (args.text is not None) == by_row or (args.file is None) != (args.row is None):
        raise ValueError("say which row: FILE with --row I, or --text TEXT")
    clf = open_model(args)
    if by_row:
        check_features(clf, args.file, args)
    x = _row(args) if by_row else [args.text]
    if args.label is None:
        labels = [label for label in clf.predict_topk(x, k=args.k).labels[0].tolist() if label >= 0]
    else:
        by_name = clf.label_names_ is not None and args.label in clf.label_names_
        labels = [args.label if by_name or not args.label.isdecimal() else int(args.label)]
    if not labels:
        print("no training row shares a feature with this one, so there are no labels")
    for label in labels:
        print(clf.explain(x, label))


def _row(args: argparse.Namespace) -> Any:
    X, _ = read_data(args.file, args.strict)
    if not 0 <= args.row < X.shape[0]:
        raise ValueError(f"--row {args.row} is outside 0..{X.shape[0] - 1} of {args.file}")
    return X[args.row : args.row + 1]
