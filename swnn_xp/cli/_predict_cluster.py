"""`swnn predict --cluster`: a folder of output files, computed on a Dask cluster."""

from __future__ import annotations

import argparse

from swnn_xp.bulk.lines import LineFormat
from swnn_xp.cli._common import given_params
from swnn_xp.cli._progress import Progress


def predict_on_workers(args: argparse.Namespace, line_format: LineFormat) -> None:
    """Predict the files of the arguments on the cluster that they name."""
    from swnn_xp.distributed import OutputOptions, predict_on_cluster

    progress: Progress | None = None

    def show(done: int, total: int) -> None:
        nonlocal progress
        progress = progress or Progress(total, "rows")
        progress.show(done)

    run = predict_on_cluster(
        args.model,
        args.files,
        args.output,
        cluster=args.cluster,
        k=args.k,
        options=OutputOptions(rows_per_part=args.rows, format=line_format.name, strict=args.strict),
        progress=show,
        backend=args.backend,
        n_jobs=args.jobs,
        **given_params(args),
    )
    if progress is not None:
        progress.close()
    print(
        f"{args.output}: {run.rows:,} rows in {run.parts:,} parts, "
        f"{run.skipped:,} of them there already"
    )
