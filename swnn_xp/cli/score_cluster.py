"""`swnn score-cluster`: the best labels of every row of big files, computed on a Dask cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli._common import DATA_HELP, add_model, add_strict
from swnn_xp.cli._progress import Progress
from swnn_xp.io import read_names


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "score-cluster", help="rank labels for big files on a Dask cluster, resumable"
    )
    add_model(parser)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=DATA_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of part files")
    parser.add_argument("-k", type=int, default=5, help="labels per row (5)")
    parser.add_argument(
        "--cluster",
        default="local",
        metavar="WHERE",
        help="'local' (a process for each core), 'local:N', or a scheduler's address (local)",
    )
    parser.add_argument(
        "--part-rows", type=int, default=4096, metavar="N", help="rows of a part file (4096)"
    )
    parser.add_argument("--label-map", type=Path, metavar="FILE", help="a label name a line")
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.distributed import score_on_cluster

    given = {"n_neighbors": args.neighbors, "alpha": args.alpha, "beta": args.beta}
    params = {name: value for name, value in given.items() if value is not None}
    progress: Progress | None = None

    def show(done: int, total: int) -> None:
        nonlocal progress
        progress = progress or Progress(total, "rows")
        progress.show(done)

    scored = score_on_cluster(
        args.model,
        args.files,
        args.output,
        cluster=args.cluster,
        k=args.k,
        rows_per_part=args.part_rows,
        label_names=read_names(args.label_map) if args.label_map else None,
        progress=show,
        strict=args.strict,
        backend=args.backend,
        n_jobs=args.jobs,
        **params,
    )
    if progress is not None:
        progress.close()
    print(
        f"{args.output}: {scored.rows:,} rows in {scored.parts:,} parts, "
        f"{scored.skipped:,} of them there already"
    )
