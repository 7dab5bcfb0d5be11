"""`swnn predict --cluster`: a folder of output files, computed on a Dask cluster."""

from __future__ import annotations

import argparse

from swnn_xp._progress import progress_bar
from swnn_xp.bulk.lines import LineFormat
from swnn_xp.cli._common import given_params


def predict_on_workers(args: argparse.Namespace, line_format: LineFormat) -> None:
    """Predict the files of the arguments on the cluster that they name."""
    from swnn_xp.distributed import OutputOptions, predict_on_cluster

    options = OutputOptions(rows_per_part=args.rows, format=line_format.name, strict=args.strict)
    with progress_bar("rows") as progress:
        run = predict_on_cluster(
            args.model,
            args.files,
            args.output,
            cluster=args.cluster,
            k=args.k,
            options=options,
            progress=progress,
            backend=args.backend,
            n_jobs=args.jobs,
            **given_params(args),
        )
    print(
        f"{args.output}: {run.rows:,} rows in {run.parts:,} parts, "
        f"{run.skipped:,} of them there already"
    )
