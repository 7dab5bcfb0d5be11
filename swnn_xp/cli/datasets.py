"""`swnn datasets`: the data sets known by name, and which of them can be loaded."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli._common import new_parser
from swnn_xp.datasets import Description, describe

_WHERE = """\
Nothing is downloaded. Get the sets from the Extreme Classification Repository (bag-of-words
features; EURLEX57K: from its authors), put each into a folder of its name, and say where:
--data FOLDER or $SWNN_DATA. `swnn twin NAME` makes a synthetic stand-in for those marked *."""


def add_data_root(parser: argparse.ArgumentParser) -> None:
    """Add --data."""
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="folder of data sets (default: $SWNN_DATA)"
    )


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "datasets",
        "list the data sets known by name",
        "Lists sizes of the data sets that `swnn reproduce` and the library know by name, and "
        "where each was found.",
        "swnn datasets --data ~/data",
    )
    add_data_root(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.data is not None and not args.data.is_dir():
        raise ValueError(f"{args.data}: no such folder")
    head = ("", "train", "test", "features", "labels", "labels/row")
    print(f"{head[0]:<17}" + "".join(f"{title:>12}" for title in head[1:]) + "  where")
    for row in describe(args.data):
        print(_line(row))
    print(f"\n* one of the paper's six sets\n{_WHERE}")


def _line(row: Description) -> str:
    published = row.published
    numbers = [published.n_train, published.n_test, published.n_features, published.n_labels]
    cells = "".join("           -" if n is None else f"{n:>12,}" for n in numbers)
    where = "not found"
    if row.path is not None:
        where = str(row.path.parent)
    elif row.at_hand:
        where = "in the package"
    name = published.name + ("*" if published.in_paper else "")
    return f"{name:<17}{cells}{published.labels_per_point:>12.2f}  {where}"
