"""Commands about data: `swnn datasets` (known by name), `swnn summarize` (a file), `swnn twin`."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli.common import (
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
from swnn_xp.cli.inputs import add_text, check_text_options, read_tagged
from swnn_xp.datasets import PAPER_SUMMARIES, SHAPES, Description, describe, make_twin
from swnn_xp.io import write_xmc
from swnn_xp.progress import note
from swnn_xp.summary import Summary, count

_WHERE = """\
Nothing is downloaded. Get the sets from the Extreme Classification Repository (bag-of-words
features; EURLEX57K: from its authors), put each into a folder of its name, and say where:
--data FOLDER or $SWNN_DATA. `swnn twin NAME` makes a synthetic stand-in for those marked *."""


def add_data_root(parser: argparse.ArgumentParser) -> None:
    """Add --data."""
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="folder of data sets (default: $SWNN_DATA)"
    )


def add_datasets(commands: argparse._SubParsersAction) -> None:
    """Add `swnn datasets`."""
    parser = new_parser(
        commands,
        "datasets",
        "list the data sets known by name",
        "Lists sizes of the data sets that `swnn reproduce` and the library know by name, and "
        "where each was found.",
        "swnn datasets --data ~/data",
    )
    add_data_root(parser)
    parser.set_defaults(run=_run_datasets)


def _run_datasets(args: argparse.Namespace) -> None:
    if args.data is not None and not args.data.is_dir():
        raise ValueError(f"{args.data}: no such folder")
    head = ("", "train", "test", "features", "labels", "labels/row")
    print(f"{head[0]:<17}" + "".join(f"{title:>12}" for title in head[1:]) + "  where")
    for row in describe(args.data):
        print(_line(row))
    print(f"\n* one of the paper's six sets\n{_WHERE}")


def _line(row: Description) -> str:
    published = row.published
    numbers = [published.n_train, published.n_test, published.n_features, published.n_labels]
    cells = "".join("           -" if n is None else f"{n:>12,}" for n in numbers)
    where = "not found"
    if row.path is not None:
        where = str(row.path.parent)
    elif row.at_hand:
        where = "in the package"
    name = published.name + ("*" if published.in_paper else "")
    return f"{name:<17}{cells}{published.labels_per_point:>12.2f}  {where}"


def add_summarize(commands: argparse._SubParsersAction) -> None:
    """Add `swnn summarize`."""
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
    parser.set_defaults(run=_run_summarize)


def _run_summarize(args: argparse.Namespace) -> None:
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


_NOTICE = """\
Synthetic: made by `swnn twin {name} --scale {scale:g} --seed {seed}`. Sizes and distributions are
like those of {name}, the content is made up. Use it to measure speed and memory, not quality.
"""


def add_twin(commands: argparse._SubParsersAction) -> None:
    """Add `swnn twin`."""
    parser = new_parser(
        commands,
        "twin",
        "write a synthetic stand-in for one of the paper's data sets",
        "Writes train.txt and test.txt with the sizes and distributions of a data set of the paper "
        "and made-up content: for speed and memory, not for quality.",
        "swnn twin Wiki10-31K --scale 0.1 -o twin",
    )
    parser.add_argument("name", help=", ".join([*PAPER_SUMMARIES, *SHAPES]))
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write"
    )
    add_twin_options(parser)
    parser.set_defaults(run=_run_twin)


def add_twin_options(parser: argparse.ArgumentParser) -> None:
    """Add --scale and --seed."""
    parser.add_argument(
        "--scale", type=float, default=1.0, help="rows of a twin relative to the original (1)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random content (0)")


def _run_twin(args: argparse.Namespace) -> None:
    note(f"making a twin of {args.name} ...")
    twin = make_twin(args.name, args.scale, args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    for part, X, y in (
        ("train", twin.X_train, twin.y_train),
        ("test", twin.X_test, twin.y_test),
    ):
        path = args.output / f"{part}.txt"
        note(f"writing {path} ...")
        write_xmc(path, X, y)
        print(
            f"{path}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {y.shape[1]:,} labels, "
            f"{X.nnz:,} non-zeros; {path.stat().st_size / 1e6:,.1f} MB"
        )
    name = twin.name.removeprefix("twin of ")
    notice = _NOTICE.format(name=name, scale=args.scale, seed=args.seed)
    with output(args.output / "SYNTHETIC.txt") as file:
        file.write(notice)
