"""`swnn summarize`: the paper's five-number tables of a data file, and a page with plots."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli._common import (
    DATA_HELP,
    add_name_maps,
    add_strict,
    check_outputs,
    check_pages,
    counted,
    find_names,
    input_path,
    new_parser,
    output,
    read_data,
)
from swnn_xp.cli._text import add_text, check_text_options, read_tagged
from swnn_xp.summary import Summary, count


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "summarize",
        "describe a data file: sizes and distributions",
        "Prints how many rows, features and labels a file has and how they are distributed; with "
        "--html, writes a page with plots as well.",
        "swnn summarize train.txt --html train.html\nswnn summarize --text tagged.jsonl",
    )
    parser.add_argument("file", type=input_path, help=DATA_HELP)
    parser.add_argument(
        "--html",
        type=Path,
        metavar="PAGE",
        help="write a page too (extra `plot`): tables, plots, search for labels and features",
    )
    add_name_maps(parser, "FILE")
    add_text(parser, "FILE")
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    check_outputs([args.html], [args.file, args.label_map, args.feature_map])
    check_pages(args.html)
    check_text_options(args)
    labels = features = None
    if args.text:
        tagged = read_tagged(args, args.file)
        labels, features = tagged.label_names, tagged.feature_names
        counts = count(tagged.X, tagged.y)
    else:
        counts = count(*read_data(args.file, args.strict))
    print(format_summary(counts.summary()))
    if args.html is None:
        return
    from swnn_xp.pages import summary_page

    file = args.file.resolve()  # many files are called train.txt, so show their folder
    page = summary_page(
        counts,
        f"{file.parent.name}/{file.name}",
        label_names=labels or find_names(args.file, args.label_map, "label_map"),
        feature_names=features or find_names(args.file, args.feature_map, "feature_map"),
    )
    with output(args.html) as out:
        out.write(page)


def format_summary(summary: Summary) -> str:
    """Format a summary as a table for people."""
    lines = [
        f"{counted(summary.n_rows, 'row')}, "
        f"{counted(summary.n_features, 'feature')} ({summary.features_used:,} occur), "
        f"{counted(summary.n_labels, 'label')} ({summary.labels_used:,} occur)",
        "",
        f"{'':<20}{'min':>10}{'1st qu.':>10}{'median':>10}{'3rd qu.':>10}{'max':>10}{'mean':>12}",
    ]
    for title, numbers in summary.tables().items():
        counts = "".join(f"{count:>10,}" for count in numbers[:5])
        lines.append(f"{title:<20}{counts}{numbers.mean:>12,.1f}")
    return "\n".join(lines)
