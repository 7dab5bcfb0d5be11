"""`swnn score`: the best labels of every row of a file of any length, block by block."""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import time
from pathlib import Path
from typing import Any

from swnn_xp.cli._common import DATA_HELP, add_model, add_strict, open_model
from swnn_xp.cli._score_cluster import score_on_workers
from swnn_xp.cli.predict import _write_jsonl, _write_tsv

_BLOCK = 4096
_REPORT_SECONDS = 5.0


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "score", help="rank labels for a file of any length; can be stopped and resumed"
    )
    add_model(parser)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=DATA_HELP)
    parser.add_argument("-k", type=int, default=5, help="labels per row (5)")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="file to write; with --cluster, a folder"
    )
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="compute on Dask: 'local' (a process for each core), 'local:N', or an address",
    )
    parser.add_argument("--format", choices=["tsv", "jsonl"], help="default: by the output's name")
    parser.add_argument("--rows", type=int, default=_BLOCK, help=f"rows of a block ({_BLOCK})")
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.bulk.predict_file import Job, score_file

    if args.cluster is not None:
        if args.format == "jsonl":
            raise ValueError("--cluster writes tsv parts; --format jsonl goes without it")
        score_on_workers(args)
        return
    if len(args.files) > 1:
        raise ValueError("several files are scored with --cluster; without it, give one")
    clf = open_model(args)
    by_name = "jsonl" if args.output.suffix == ".jsonl" else "tsv"
    as_tsv = (args.format or by_name) == "tsv"
    write = _write_tsv if as_tsv else _write_jsonl

    def lines(first_row: int, labels: Any, scores: Any) -> str:
        text = io.StringIO()
        write(text, first_row, labels, scores, clf.label_names_)
        return text.getvalue()

    header = "row\trank\tlabel\tscore\n" if as_tsv else ""
    # The manifest holds the checksum of every array, so its digest stands for the model.
    model = hashlib.sha256((args.model / "manifest.json").read_bytes()).hexdigest()
    job = Job(args.files[0], args.output, args.k, args.rows, args.strict, header, model)
    report = _Report()
    total = score_file(clf, job, lines, report)
    report.end(total)


class _Report:
    """Rows and rows a second on stderr, now and then and at the end."""

    def __init__(self) -> None:
        self._started = self._said = time.monotonic()
        self._resumed_at = 0

    def __call__(self, progress: Any) -> None:
        self._resumed_at = progress.resumed_at
        if time.monotonic() - self._said >= _REPORT_SECONDS:
            self._say(progress.done)

    def end(self, total: int) -> None:
        """Say what was done."""
        if self._resumed_at:
            print(f"went on after row {self._resumed_at:,}", file=sys.stderr)
        self._say(total)

    def _say(self, done: int) -> None:
        self._said = time.monotonic()
        rate = (done - self._resumed_at) / max(self._said - self._started, 1e-9)
        print(f"{done:,} rows, {rate:,.0f} rows/s", file=sys.stderr, flush=True)
