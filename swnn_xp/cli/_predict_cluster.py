"""`swnn predict --cluster`: a folder of output files, computed on a Dask cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.bulk.lines import FORMATS, Threshold, choose_format
from swnn_xp.cli._common import counted, given_params, is_stdout
from swnn_xp.cli._features import FeatureSpace, NamelessFeatures, check_features
from swnn_xp.io.files import can_rewind, first_byte
from swnn_xp.loading import load
from swnn_xp.progress import progress_bar


def predict_on_workers(args: argparse.Namespace) -> None:
    """Predict the files of the arguments on the cluster that they name."""
    _refuse(args)
    out_format = choose_format(None, args.format)
    features = _feature_space(args.model)
    for file in args.files:
        if first_byte(file) != b"{":  # JSON lines say themselves what they hold
            check_features(features, file, args)
    from swnn_xp.distributed import OutputOptions, predict_on_cluster

    options = OutputOptions(
        rows_per_part=args.rows,
        format=out_format.name,
        strict=args.strict,
        threshold=Threshold(args.min_probability, args.at_least),
        row_map=args.row_map,
    )
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
        f"{args.output}: {counted(run.rows, 'row')} in {counted(run.parts, 'part')}, "
        f"{run.skipped:,} of them there already"
    )


def _feature_space(model: Path) -> FeatureSpace:
    from swnn_xp.distributed import shard_folder

    if not (model / shard_folder.FILE).exists():
        return load(model)
    return NamelessFeatures(shard_folder.read(model).n_features)


def _refuse(args: argparse.Namespace) -> None:
    """Refuse what only a single process can do, before anything is started."""
    if is_stdout(args.output):
        raise ValueError("--cluster writes a folder of files: name it with -o")
    if args.format is not None and args.format not in FORMATS:
        raise ValueError(f"--cluster does not write {args.format}")
    for file in args.files:
        if not can_rewind(file):  # rows are counted before they are read
            raise ValueError(f"{file}: --cluster reads files, not pipes")
