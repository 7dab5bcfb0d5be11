"""`swnn explain`: why a row gets its labels."""

from __future__ import annotations

import argparse
from typing import Any

from swnn_xp.checks import check_count
from swnn_xp.cli.common import (
    add_model,
    add_strict,
    input_path,
    new_parser,
    open_model,
)
from swnn_xp.cli.inputs import add_feature_checks, open_checked
from swnn_xp.loading import AnyModel
from swnn_xp.model.explain import SHOWN_FEATURES

_BLOCK = 4096
_VOTERS = 5


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "explain",
        "show the neighbours behind a row's labels",
        "For each label of a row: the training rows that voted for it, their share of its score, "
        "and the features they have in common with the row. Those that count most are shown; "
        "--all shows the rest.",
        "swnn explain model new.txt --row 0\nswnn explain model new.jsonl --row 3 --label red",
    )
    add_model(parser)
    parser.add_argument("file", type=input_path, nargs="?", help="rows, as for `swnn predict`")
    parser.add_argument("--row", type=int, metavar="I", help="row of the file, from 0")
    parser.add_argument("--text", help="a text instead of a row, for a model fitted on texts")
    parser.add_argument("--label", help="name or id (default: the best k labels)")
    parser.add_argument("-k", type=int, default=3, help="labels to explain (3)")
    parser.add_argument("--all", action="store_true", help="show every voter and every feature")
    add_feature_checks(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    by_row = args.file is not None and args.row is not None
    if (args.text is not None) == by_row or (args.file is None) != (args.row is None):
        raise ValueError("say which row: FILE with --row I, or --text TEXT")
    clf = open_model(args)
    if not by_row and clf.vectorizer_ is None:
        raise ValueError("--text: the model was not fitted on texts; give FILE and --row")
    x = _row(args, clf) if by_row else [args.text]
    if args.label is None:
        check_count(args.k, "k")
        best = clf.predict_topk(x, k=min(args.k, clf.n_labels_)).labels[0]
        labels = [label for label in best.tolist() if label >= 0]
    else:
        by_name = clf.label_names_ is not None and args.label in clf.label_names_
        labels = [args.label if by_name or not args.label.isdecimal() else int(args.label)]
    if not labels:
        print("no training row shares a feature with this one, so there are no labels")
    for label in labels:
        print(
            clf.explain(x, label).text(*((None, None) if args.all else (_VOTERS, SHOWN_FEATURES)))
        )


def _row(args: argparse.Namespace, clf: AnyModel) -> Any:
    rows = 0
    for block in open_checked(clf, args.file, args).blocks(_BLOCK):
        rows = block.end.row
        if 0 <= args.row < rows:
            i = args.row - block.first_row
            if block.ids is not None and block.ids[i] is not None:
                print(f"id {block.ids[i]}")
            return block.X[i : i + 1]
    raise ValueError(f"--row {args.row} is outside 0..{rows - 1} of {args.file}")
