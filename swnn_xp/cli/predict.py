"""`swnn predict`: the best labels of every row of a file, as TSV or JSON lines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import IO, Any

from swnn_xp.cli._common import (
    DATA_HELP,
    add_model,
    add_strict,
    open_model,
    output,
    read_data,
)
from swnn_xp.cli._progress import in_blocks

_BLOCK = 1024


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("predict", help="rank labels for every row of a file")
    add_model(parser)
    parser.add_argument("file", type=Path, help=DATA_HELP)
    parser.add_argument("-k", type=int, default=5, help="labels per row (5)")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: stdout)")
    parser.add_argument(
        "--format", choices=["tsv", "jsonl"], help="default: by the name of the output, else tsv"
    )
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    clf = open_model(args)
    X, _ = read_data(args.file, args.strict)
    by_name = "jsonl" if args.output and args.output.suffix == ".jsonl" else "tsv"
    write = _write_jsonl if (args.format or by_name) == "jsonl" else _write_tsv
    with output(args.output) as file:
        if write is _write_tsv:
            file.write("row\trank\tlabel\tscore\n")
        for start, stop in in_blocks(X.shape[0], _BLOCK, "rows"):
            labels, scores = clf.predict_topk(X[start:stop], k=args.k)
            write(file, start, labels.tolist(), scores.tolist(), clf.label_names_)


def _write_tsv(file: IO[str], start: int, labels: Any, scores: Any, names: Any) -> None:
    for row, (row_labels, row_scores) in enumerate(zip(labels, scores, strict=True), start):
        for rank, (label, score) in enumerate(zip(row_labels, row_scores, strict=True), 1):
            if label >= 0:
                shown = names[label].replace("\t", " ") if names else label
                file.write(f"{row}\t{rank}\t{shown}\t{score:.6g}\n")


def _write_jsonl(file: IO[str], start: int, labels: Any, scores: Any, names: Any) -> None:
    for row, (row_labels, row_scores) in enumerate(zip(labels, scores, strict=True), start):
        found = sum(label >= 0 for label in row_labels)
        record = {"row": row, "labels": row_labels[:found], "scores": row_scores[:found]}
        if names:
            record["names"] = [names[label] for label in row_labels[:found]]
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
