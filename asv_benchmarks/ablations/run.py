"""What each part of the ranker is worth: change one thing at a time, `make bench-ablations`.

Trained on all training rows and asked all test rows, with the defaults but for the change. Feature
weights and neighbours are found once for a data set. What docs/data/ablations.json already holds is
not measured again, so a run can be stopped and resumed. These figures explain the defaults; they
were chosen by hold-out on training rows, not by this table.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import machine
from results import Results

from swnn_xp import SWNNRanker, datasets, metrics
from swnn_xp.backends import resolve
from swnn_xp.learn.train import (
    SearchBackend,
    find_neighbours,
    measure_candidates,
    prepare,
    source_trial,
    to_candidates,
    train_ranking,
    with_useful_sources,
)
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import canonical_rows, label_rows

HERE = Path(__file__).resolve().parent
SETS = ("bibtex", "citeulike-t", "eurlex57k")
ROOT = HERE.parents[2] / "shared" / "data"
FILE = HERE.parents[1] / "docs" / "data" / "ablations.json"
MOST_NEIGHBOURS = 150
COLUMNS = ("P@1", "P@3", "P@5", "PSP@5")
CHANGES = {
    "none": {},
    "no label models: the vote score alone": {"C": 1e-9, "vote_weight": 1.0},
    "no vote: label models alone": {"vote_weight": 0.0},
    "no feature weights": {"weighted": False},
    "no label centroids": {"centroids": False},
    "label centroids": {"centroids": True},
    "no cuts but the last": {"first_cuts": ()},
    "vote weight 0.2": {"vote_weight": 0.2},
    "vote weight 1": {"vote_weight": 1.0},
    "C = 0.1": {"C": 0.1},
    "C = 0.3": {"C": 0.3},
    "C = 1": {"C": 1.0},
    "one C for all labels": {"C_power": 0.0},
    "S = 25": {"n_neighbors": 25},
    "S = 150": {"n_neighbors": MOST_NEIGHBOURS},
    "K = 25": {"n_candidates": 25},
    "K = 50": {"n_candidates": 50},
    "K = 200": {"n_candidates": 200},
    "no missed positives": {"missed": 0.0},
    "missed positives move no bias": {"missed_bias": 0.0},
    "missed positives move biases fully": {"missed_bias": 1.0},
    "rows not scaled for label models": {"scale_power": 0.0},
    "rows scaled for label models": {"scale_power": 0.5},
    "no weight dropped": {"dropped": 0.0},
}


def silent(stage, done, total):
    pass


class Found(NamedTuple):
    """What all changes share: rows that are ready, neighbours of training and test rows."""

    ready: object
    training: list
    test: Neighbours


def find(data, weighted, centroids):
    """Learn feature weights, index the rows and search, once for all changes."""
    ranker, X = SWNNRanker(), data.X_train
    backend = resolve("auto", X)
    index_class, options = backend.load(), ranker.options
    placement = index_class.placement.find(backend.name, None, X)
    searched = SearchBackend(index_class, placement, options)
    rows, labels = canonical_rows(X, "X"), label_rows(data.y_train, "y")
    settings = ranker.training_settings()._replace(calibrate=False, centroids=centroids)
    ready = prepare(rows, labels, settings, searched, silent, weighted=weighted)
    trial = source_trial(ready.training, ready.search, ready.settings, silent)
    ready = ready._replace(training=with_useful_sources(ready.training, trial))
    most = ready.settings._replace(n_neighbors=MOST_NEIGHBOURS)
    neighbours = list(find_neighbours(ready.training, ready.search, most, silent))
    asked, S = ready.model.queries(data.X_test).scaled, ready.model.n_voters(MOST_NEIGHBOURS)
    return Found(ready, neighbours, ready.model.search(asked, S, most.beta, options))


def ranked(found, change, X, options):
    """The five best labels of test rows, by a ranker with one thing changed."""
    ready = found.ready
    settings = ready.settings._replace(**change)
    blocks = to_candidates(ready.training, found.training, settings)
    stats = measure_candidates(ready.training, blocks, settings, silent)
    ranking = train_ranking(ready.training, stats, settings, silent)
    S = settings.cuts[-1]
    nearest = Neighbours(found.test.similarities[:, :S], found.test.ids[:, :S])
    model = ready.model
    best = ranking.rank_found(model, model.queries(X), nearest, 5, options)
    return best.labels, stats.descent_params(settings), ranking.selection


def measure(name, results, again):
    """Measure the changes that are missing of a data set."""
    data, found = datasets.load(name, root=ROOT), {}
    propensity = metrics.propensities(data.y_train)
    for title, change in CHANGES.items():
        if (name, title) in results.rows and not again:
            continue
        settings = dict(change)
        way = settings.pop("weighted", True), settings.pop("centroids", "auto")
        if way not in found:
            found[way] = find(data, *way)
        labels, descent, selection = ranked(found[way], settings, data.X_test, SWNNRanker().options)
        row = {"dataset": name, "change": title}
        row |= {"date": datetime.date.today().isoformat(), "machine": machine()}
        row |= {"S": selection.cuts[-1], "K": selection.n_candidates} | descent._asdict()
        row |= {f"P@{k}": metrics.precision_at_k(data.y_test, labels, k) * 100 for k in (1, 3, 5)}
        row["PSP@5"] = 100 * metrics.psp_at_k(data.y_test, labels, 5, propensity)
        results.put({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
        print(f"{name}, {title}: done", file=sys.stderr, flush=True)


def table(results, name):
    """A data set's figures as they are, and then the difference that each change makes."""
    rows = {change: row for (known, change), row in results.rows.items() if known == name}
    lines = [f"| {name} | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * len(COLUMNS)]
    base = rows.get("none")
    for title in CHANGES if base else ():
        if title in rows:
            less = {column: 0 if title == "none" else base[column] for column in COLUMNS}
            sign = "" if title == "none" else "+"
            cells = (f"{rows[title][column] - less[column]:{sign}.2f}" for column in COLUMNS)
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: run.py bibtex citeulike-t --measured"
    )
    parser.add_argument("names", nargs="*", default=SETS, metavar="SET", help=" ".join(SETS))
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    parser.add_argument("--json", type=Path, default=FILE, help="the file of figures")
    parser.add_argument("--measured", action="store_true", help="measure nothing, use the file")
    arguments = parser.parse_args()
    results = Results(arguments.json, ("dataset", "change"))
    for name in () if arguments.measured else arguments.names:
        measure(name, results, arguments.again)
    print("\n\n".join(table(results, name) for name in arguments.names))


if __name__ == "__main__":
    main()
