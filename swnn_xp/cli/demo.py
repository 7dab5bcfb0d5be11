"""`swnn demo`: the main job on the data set shipped with the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from swnn_xp import SWNNClassifier
from swnn_xp.cli.common import new_parser
from swnn_xp.datasets import Dataset
from swnn_xp.diagnostics.latency import latencies

if TYPE_CHECKING:
    from swnn_xp import SWNNRanker

SHOWN_PACKAGE = "filezilla"
"""A test package that people know, unlike all that the models learn from."""
EXAMPLE = (
    "A small chess game for the terminal. Play against the computer, and save your games as PGN."
)
_N_TAGS = 5
_N_REASONS = 3


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "demo",
        "tag Debian packages with the data set in the package",
        "Learns the tags of Debian packages, measures how often the first tag of others is right, "
        "and shows the tags of one, with reasons. In a terminal, it then serves a page on this "
        "machine where you can try any text (extra `serve`). Needs no files.",
        "swnn demo\nswnn demo --no-serve",
    )
    parser.add_argument("--no-serve", action="store_true", help="end without the page")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: a free one)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.datasets import load

    data = load("debtags")
    n_train, n_test = data.X_train.shape[0], data.X_test.shape[0]
    print(
        f"Debian packages, described in words and tagged by people: {n_train:,} to learn from, "
        f"{n_test:,} to test on, {data.y_train.shape[1]} tags.\n",
        flush=True,
    )
    print(f"{'':32}first tag right  trained in  one answer", flush=True)
    from swnn_xp import SWNNRanker  # it needs numba

    ranker = SWNNRanker()
    for name, model in (
        ("neighbours vote (published)", SWNNClassifier()),
        ("neighbours vote, models rank", ranker),
    ):
        print(f"{name:32}{_measured(model, data)}", flush=True)
    _show_package(ranker, data)
    if not args.no_serve:
        _serve(ranker, args.port)


def _measured(model: Any, data: Dataset) -> str:
    """Train a model and measure it; compiling, which happens once, is no part of its time."""
    from swnn_kernels import compile_timer  # imports numba, so not before it is needed

    with compile_timer() as compiling:
        started = time.perf_counter()
        model.fit(
            data.X_train,
            data.y_train,
            label_names=data.label_names,
            row_names=data.row_names_train,
            vectorizer=data.vectorizer,
        )
        elapsed = time.perf_counter() - started
    right = model.score(data.X_test, data.y_test)
    answer = np.median(latencies(model, data.X_test))
    return f"{right:>15.1%}{elapsed - compiling():>10.1f} s{1e3 * answer:>9.2f} ms"


def _show_package(model: SWNNRanker, data: Dataset) -> None:
    row = data.row_names_test.index(SHOWN_PACKAGE)
    x = data.X_test[[row]]
    words = [data.feature_names[j] for j in x.indices[np.argsort(-x.data, kind="stable")]]
    print(f"\nOne of the test packages, {SHOWN_PACKAGE}. Words: {', '.join(words[:12])}, ...")
    best = model.topk_probabilities(x, k=_N_TAGS)
    labels = best.labels[0].tolist()
    for label, probability in zip(labels, best.probabilities[0].tolist(), strict=True):
        truth = "right" if data.y_test[row, label] else "not among its tags"
        print(f"  {probability:4.0%}  {data.label_names[label]:22} {truth}")
    rarest = min(labels, key=lambda label: int(model.label_counts_[label]))
    why = model.explain(x, rarest)
    print(f"\nWhy {why.name}?")
    for_it = [feature.name for feature in why.features if feature.contribution > 0]
    print(f"  Words that speak for it: {', '.join(for_it[:_N_REASONS])}.")
    voters = f"{len(why.voters)} of the {model.n_neighbors_} most similar packages have it"
    alike = [
        f"{voter.name} ({', '.join(feature.name for feature in voter.features[:_N_REASONS])})"
        for voter in why.voters[:_N_REASONS]
    ]
    print(f"  {voters}, such as {'; '.join(alike)}.")


def _serve(model: SWNNRanker, port: int) -> None:
    """Serve the page in a terminal, until Ctrl-C; without one, nobody would end it."""
    try:
        from swnn_xp.serve import Service, serve
    except ImportError as error:
        print(f"\nTo try any text on a page: {str(error).partition(': ')[2]}, then swnn demo again")
        return
    if not sys.stdout.isatty():
        print("\nIn a terminal, swnn demo then serves a page to try any text on.")
        return
    with tempfile.TemporaryDirectory(prefix="swnn-demo-") as folder:
        model.save(folder)
        print("\nTry any text on this page; Ctrl-C ends it:", flush=True)
        try:
            serve(Service(folder, example=EXAMPLE), port=port)
        except KeyboardInterrupt as stop:
            if type(stop) is not KeyboardInterrupt:  # SIGTERM
                raise
            print()
