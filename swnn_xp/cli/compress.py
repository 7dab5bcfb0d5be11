"""`swnn compress`: a smaller, faster model that keeps a part of the rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from swnn_xp.cli._common import add_jobs, new_parser
from swnn_xp.progress import note

if TYPE_CHECKING:
    from swnn_xp.tuning.keeping import PartTrial


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "compress",
        "keep a part of a model's rows",
        "Keeps a part of a model's rows: faster answers, a smaller model. A ranked "
        "model is trained again on all rows and loses little.",
        "swnn fit train.txt -o model --learn ranking\n"
        "swnn compress model -o small --keep 0.1\n"
        "swnn compress model -o small --max-loss 0.5",
    )
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.add_argument("-o", "--output", type=Path, required=True, help="model folder to write")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--keep", type=float, metavar="PART", help="part of the rows, such as 0.1")
    how.add_argument(
        "--max-loss", type=float, metavar="POINTS",
        help="find the smallest part that loses at most this many points of P@1 on held-out rows",
    )  # fmt: skip
    add_jobs(parser, "threads")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp import load

    clf = load(args.model, n_jobs=args.jobs)
    before, keep = clf.n_samples_fit_, args.keep
    if keep is None:
        from swnn_xp.tuning.keeping import smallest_part

        note("trying parts of the rows ...")
        keep = smallest_part(clf, args.max_loss, on_progress=_show)
    if keep != 1:
        clf.compress(keep)
    clf.save(args.output)
    print(f"{args.output}: {clf.n_samples_fit_:,} of {before:,} rows")


def _show(trial: PartTrial) -> None:
    print(f"{trial.keep:7.0%} of the rows: P@1 {trial.precision:.2f} on the rows held out")
