"""`swnn predict`: the best labels of every row of some files, as TSV or JSON lines."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from swnn_xp.bulk.lines import ESCAPES_HELP, FORMATS, LineFormat, LineWriter, choose_format
from swnn_xp.bulk.model_digest import model_digest
from swnn_xp.bulk.predict_file import PredictJob, Progress, predict_file, predict_stream
from swnn_xp.cli._common import (
    DATA_HELP,
    add_model,
    add_strict,
    is_stdout,
    open_model,
    output,
)
from swnn_xp.cli._predict_cluster import predict_on_workers
from swnn_xp.io.atomic import is_special

_BLOCK = 4096
_REPORT_SECONDS = 5.0
_DESCRIPTION = f"""\
Ranks labels for every row. Files may have any length: they are read, predicted and written block
by block. Rows of several files are numbered consecutively.

TSV has a line for each row and label: row, rank, label, score. {ESCAPES_HELP}
JSON lines have an object for each row.

If the output is a file, the same command resumes an interrupted run: the output grows in
OUT.partial, OUT.journal lists its complete blocks, and OUT appears when it is complete."""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "predict",
        help="rank labels for every row of some files",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    parser.set_defaults(run=run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_model(parser)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=DATA_HELP)
    parser.add_argument("-k", type=int, default=5, help="labels per row (5)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="file to write (default: stdout); with --cluster, a folder of files",
    )
    parser.add_argument(
        "--format", choices=list(FORMATS), help="default: by the suffix of the output, else tsv"
    )
    parser.add_argument("--rows", type=int, default=_BLOCK, help=f"rows of a block ({_BLOCK})")
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="compute on Dask: 'local' (one process per core), 'local:N', or an address",
    )
    add_strict(parser)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    line_format = choose_format(args.output, args.format)
    if args.cluster is not None:
        if is_stdout(args.output):
            raise ValueError("--cluster writes a folder of files: name it with -o")
        predict_on_workers(args, line_format)
    else:
        _predict_here(args, line_format)


def _predict_here(args: argparse.Namespace, line_format: LineFormat) -> None:
    clf = open_model(args)
    job = PredictJob(
        files=tuple(args.files),
        writer=LineWriter(line_format, clf.label_names_),
        k=args.k,
        block_rows=args.rows,
        strict=args.strict,
        model=model_digest(args.model),
    )
    if is_stdout(args.output) or is_special(args.output):
        with output(args.output) as stream:
            predict_stream(clf, job, stream)
        return
    report = _Report()
    report.end(predict_file(clf, job, args.output, report))


class _Report:
    """Rows and rows per second on stderr, every few seconds and at the end."""

    def __init__(self) -> None:
        self._started = self._printed = time.monotonic()
        self._resumed_at = 0

    def __call__(self, progress: Progress) -> None:
        self._resumed_at = progress.resumed_at
        if time.monotonic() - self._printed >= _REPORT_SECONDS:
            self._print(progress.done)

    def end(self, total: int) -> None:
        """Print the totals."""
        if self._resumed_at:
            print(f"resumed after row {self._resumed_at:,}", file=sys.stderr)
        self._print(total)

    def _print(self, done: int) -> None:
        self._printed = time.monotonic()
        rate = (done - self._resumed_at) / max(self._printed - self._started, 1e-9)
        print(f"{done:,} rows, {rate:,.0f} rows/s", file=sys.stderr, flush=True)
