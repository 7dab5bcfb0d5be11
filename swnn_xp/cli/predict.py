"""`swnn predict`: the best labels of every row of files or pipes, here or on a Dask cluster."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from swnn_xp.bulk.journal import model_digest
from swnn_xp.bulk.lines import (
    ESCAPES_HELP,
    FORMAT_NAMES,
    FORMATS,
    PARQUET,
    Columns,
    LineWriter,
    OutputFormat,
    Threshold,
    choose_format,
)
from swnn_xp.bulk.predict_file import (
    PredictJob,
    RowsDone,
    predict_directly,
    predict_file,
    predict_stream,
)
from swnn_xp.bulk.records import FORMS_HELP
from swnn_xp.bulk.sources import JsonRows, RowSource
from swnn_xp.cli.common import (
    add_cluster,
    add_model,
    add_strict,
    check_cluster,
    check_outputs,
    counted,
    given_params,
    input_path,
    is_stdout,
    open_model,
)
from swnn_xp.cli.inputs import (
    add_feature_checks,
    add_filter,
    open_checked,
)
from swnn_xp.io.files import can_rewind, is_special
from swnn_xp.loading import AnyModel
from swnn_xp.progress import progress_bar

_BLOCK = 4096
_REPORT_SECONDS = 5.0
_DESCRIPTION = f"""\
Ranks labels for every row. Files may have any length: they are read, predicted and written block
by block. Rows of several files are numbered consecutively. A pipe is answered as it comes.

FILE is in the Extreme Classification Repository's text format or holds JSON lines (plain, .gz or
.xz; recognised by content), - is stdin. JSON lines have one object per row:

{FORMS_HELP}

TSV and CSV have a line for each row and label: row, id (if the input has ids), rank, label, score,
probability. {ESCAPES_HELP}
JSON lines have an object for each row. With --skip-bad a bad row has the rank "error" and the error
as its label, or a field "error". Names that end in .gz or .xz are compressed.

If input and output are files, the same command resumes an interrupted run: the output grows in
OUT.partial, OUT.journal lists its complete blocks, and OUT appears when it is complete. Parquet
can't be resumed. What comes from a pipe is written to OUT directly."""
_EPILOG = """\
examples:
  swnn predict model new.txt -o labels.tsv
  swnn predict model new.jsonl -o labels.csv.gz --min-probability 0.5 --at-least 1
  tail -f new.jsonl | swnn predict model - --format jsonl"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "predict",
        help="rank labels for every row of some files",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model(parser)
    parser.add_argument(
        "files", type=input_path, nargs="+", metavar="FILE", help="rows, see above; - for stdin"
    )
    parser.add_argument("-k", type=int, default=5, help="labels per row, at most (5)")
    parser.add_argument(
        "--min-probability", type=float, default=0.0, metavar="P", help="leave out labels below P"
    )
    parser.add_argument(
        "--at-least", type=int, default=0, metavar="N", help="but keep the best N of every row"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="file to write (default, or -: stdout); with --cluster, a folder of files",
    )
    parser.add_argument(
        "--format", choices=FORMAT_NAMES, help="default: by the suffix of the output, else tsv"
    )
    parser.add_argument(
        "--row-map", type=Path, metavar="FILE", help="ids of the rows, one per line"
    )
    parser.add_argument("--rows", type=int, default=_BLOCK, help=f"rows of a block ({_BLOCK})")
    add_cluster(parser, "compute")
    parser.add_argument(
        "--skip-bad", action="store_true",
        help="write an error for a bad line of JSON and go on; without it the command ends there",
    )  # fmt: skip
    add_filter(parser, "the files, taken together")
    add_feature_checks(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.cluster is not None:
        _predict_on_cluster(args)
    else:
        _predict_here(args)


def _predict_here(args: argparse.Namespace) -> None:
    to_stdout = is_stdout(args.output)
    check_outputs([args.output], [*args.files, args.row_map, args.filter])
    out_format = choose_format(None if to_stdout else args.output, args.format)
    if args.skip_bad and out_format.name == PARQUET:
        raise ValueError("--skip-bad writes errors as text: name a TSV, CSV or JSON lines file")
    threshold = Threshold(args.min_probability, args.at_least)
    clf = open_model(args)
    job = _job(args, clf, out_format, threshold)
    if to_stdout:
        predict_stream(clf, job, sys.stdout.buffer)
    else:
        if out_format.name == PARQUET:
            from swnn_xp.bulk.parquet import predict_parquet as predict
        else:
            resumable = job.is_resumable and not is_special(args.output)
            predict = predict_file if resumable else predict_directly
        report = _Report()
        report.end(predict(clf, job, args.output, report))
    _warn_of_what_was_left_out(job.sources)


def _job(
    args: argparse.Namespace, clf: AnyModel, out_format: OutputFormat, threshold: Threshold
) -> PredictJob:
    sources = tuple(open_checked(clf, file, args) for file in args.files)
    has_ids = args.row_map is not None or any(source.has_ids for source in sources)
    # Parquet takes only names and columns from the writer.
    line_format = FORMATS.get(out_format.name, FORMATS["tsv"])
    return PredictJob(
        sources=sources,
        writer=LineWriter(line_format, clf.label_names_, Columns(has_ids, True), threshold),
        compression=out_format.compression,
        k=args.k,
        block_rows=args.rows,
        row_map=args.row_map,
        exclude=args.filter,
        model=model_digest(args.model),
    )


def _warn_of_what_was_left_out(sources: tuple[RowSource, ...]) -> None:
    """Say how many feature names and lines were left out: all, if they are another model's."""
    counted = [source.features for source in sources if isinstance(source, JsonRows)]
    unknown = sum(features.unknown for features in counted)
    if unknown:
        seen = sum(features.seen for features in counted)
        what = f"{unknown:,} of {seen:,} feature names are unknown to the model"
        print(f"swnn: {what} and were left out", file=sys.stderr)
    if bad := sum(features.bad for features in counted):
        print(f"swnn: bad lines: {bad:,}; each has an error in the output", file=sys.stderr)


class _Report:
    """Rows and rows per second on stderr, every few seconds and at the end."""

    def __init__(self) -> None:
        self._started = self._printed = time.monotonic()
        self._resumed_at = 0

    def __call__(self, rows: RowsDone) -> None:
        self._resumed_at = rows.resumed_at
        if time.monotonic() - self._printed >= _REPORT_SECONDS:
            self._print(rows.done)

    def end(self, total: int) -> None:
        """Print the totals."""
        if self._resumed_at:
            print(f"resumed after row {self._resumed_at:,}", file=sys.stderr)
        self._print(total)

    def _print(self, done: int) -> None:
        self._printed = time.monotonic()
        rate = (done - self._resumed_at) / max(self._printed - self._started, 1e-9)
        print(f"{counted(done, 'row')}, {rate:,.0f} rows/s", file=sys.stderr, flush=True)


def _predict_on_cluster(args: argparse.Namespace) -> None:
    """Write a folder of output files."""
    _check_cluster_args(args)
    out_format = choose_format(None, args.format)
    from swnn_xp.distributed import OutputOptions, predict_on_cluster, shard_folder

    features = shard_folder.read(args.model).input_features
    for file in args.files:
        open_checked(features, file, args)
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
        f"{run.skipped:,} of them already existed"
    )


def _check_cluster_args(args: argparse.Namespace) -> None:
    """Refuse what only a single process can do, before anything is started."""
    check_cluster(args)
    if is_stdout(args.output):
        raise ValueError("--cluster writes a folder of files: name it with -o")
    if args.filter is not None:
        raise ValueError("--cluster can't leave out pairs: leave out --filter")
    if args.skip_bad:
        raise ValueError("--cluster can't skip bad lines: leave out --skip-bad")
    if args.format is not None and args.format not in FORMATS:
        raise ValueError(f"--cluster does not write {args.format}")
    for file in args.files:
        if not can_rewind(file):  # rows are counted before they are read
            raise ValueError(f"{file}: --cluster reads files, not pipes")
