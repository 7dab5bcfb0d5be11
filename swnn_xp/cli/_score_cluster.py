"""The cluster's part of `swnn score`: part files, computed on a Dask cluster."""

from __future__ import annotations

import argparse

from swnn_xp.cli._progress import Progress


def score_on_workers(args: argparse.Namespace) -> None:
    """Score the files of the arguments on the cluster they name."""
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
        rows_per_part=args.rows,
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
