"""`swnn demo`: the main job on the data set shipped with the package."""

from __future__ import annotations

import argparse
import time

import numpy as np

from swnn_xp import SWNNClassifier
from swnn_xp.cli.common import new_parser
from swnn_xp.cli.evaluate import report


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    new_parser(
        commands,
        "demo",
        "tag Debian packages with the data set in the package",
        "Indexes Debian packages, measures how well the tags of others are found, and "
        "explains the tags of one. Needs no files.",
        "swnn demo",
    ).set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.datasets import load

    data = load("debtags")
    print(
        f"Debian packages and their tags: {data.X_train.shape[0]:,} to learn from, "
        f"{data.X_test.shape[0]:,} to test on, {data.X_train.shape[1]:,} words, "
        f"{data.y_train.shape[1]:,} tags"
    )
    started = time.perf_counter()
    clf = SWNNClassifier().fit(
        data.X_train,
        data.y_train,
        feature_names=data.feature_names,
        label_names=data.label_names,
        row_names=data.row_names_train,
    )
    print(f"indexed in {time.perf_counter() - started:.2f} s\n")
    print(report(clf, data.X_test, data.y_test))

    row = int(np.argmax(clf.predict_topk(data.X_test[:200], k=1).scores[:, 0]))
    x = data.X_test[row : row + 1]
    words = ", ".join(data.feature_names[j] for j in x.indices[:12])
    print(f"\nOne test package, {data.row_names_test[row]}, with the words {words}:")
    labels, scores = clf.predict_topk(x, k=5)
    for name, score in zip(clf.predict_names(x, k=5)[0], scores[0].tolist(), strict=False):
        truth = "right" if data.y_test[row, clf.label_id(name)] else "not among its tags"
        print(f"  {score:7.3f}  {name}  ({truth})")
    print("\nWhy the first one:")
    print("\n".join(str(clf.explain(x, int(labels[0, 0]))).splitlines()[:6]))
