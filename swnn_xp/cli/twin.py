"""`swnn twin`: write a synthetic stand-in for one of the paper's data sets, or of a shape."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli._common import new_parser, output
from swnn_xp.datasets import PAPER_SUMMARIES, SHAPES, make_twin
from swnn_xp.io import write_xmc
from swnn_xp.progress import note

_NOTICE = """\
Synthetic: made by `swnn twin {name} --scale {scale:g} --seed {seed}`. Sizes and distributions are
like those of {name}, the content is made up. Use it to measure speed and memory, not quality.
"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "twin",
        "write a synthetic stand-in for one of the paper's data sets",
        "Writes train.txt and test.txt with the sizes and distributions of a data set of the paper "
        "and made-up content: for speed and memory, not for quality.",
        "swnn twin Wiki10-31K --scale 0.1 -o twin",
    )
    parser.add_argument("name", help=", ".join([*PAPER_SUMMARIES, *SHAPES]))
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write"
    )
    add_twin_options(parser)
    parser.set_defaults(run=run)


def add_twin_options(parser: argparse.ArgumentParser) -> None:
    """Add --scale and --seed."""
    parser.add_argument(
        "--scale", type=float, default=1.0, help="rows of a twin relative to the original (1)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random content (0)")


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    note(f"making a twin of {args.name} ...")
    twin = make_twin(args.name, args.scale, args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    for part, X, y in (
        ("train", twin.X_train, twin.y_train),
        ("test", twin.X_test, twin.y_test),
    ):
        path = args.output / f"{part}.txt"
        note(f"writing {path} ...")
        write_xmc(path, X, y)
        print(
            f"{path}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {y.shape[1]:,} labels, "
            f"{X.nnz:,} non-zeros; {path.stat().st_size / 1e6:,.1f} MB"
        )
    name = twin.name.removeprefix("twin of ")
    notice = _NOTICE.format(name=name, scale=args.scale, seed=args.seed)
    with output(args.output / "SYNTHETIC.txt") as file:
        file.write(notice)
