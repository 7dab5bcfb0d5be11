"""What names cost: time of a ranked query and memory, with 50,000 names on EURLEX57K.

    make bench-names

The labels of this set have numbers for names, so they get the words that are most frequent in
their rows; tags of citeulike-t, whose words are looked up among the features, are further labels
without rows. The model and the same one without its names answer the same test rows one at a time
in one process, by sessions, on one thread: CPU time, best of several rounds that take turns.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

from swnn_kernels.learn.candidates import N_BINS
from swnn_xp import SWNNRanker, datasets

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
N_NAMES, QUERIES, ROUNDS = 50_000, 1_000, 7
LONGEST = 4


def typical_words(X, Y, rng):
    """For each label the features that its rows have most often, against all rows."""
    binary = sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    shares = (sp.csr_array(binary.sum(axis=0)[None] + 10.0)).toarray()[0]
    counts = sp.csr_array(Y.T @ binary)
    names = []
    for label in range(Y.shape[1]):
        own = slice(counts.indptr[label], counts.indptr[label + 1])
        lift = counts.data[own] ** 2 / shares[counts.indices[own]]
        names.append(counts.indices[own][np.argsort(-lift)[: rng.integers(1, LONGEST + 1)]])
    return names


def without_names(clf):
    """The same model with its names taken out."""
    model = clf.model_
    ranking, selection = model.ranking, model.ranking.selection._replace(sources=())
    tables = ranking.ranker.tables.reshape(2, -1, N_BINS)[:, : selection.n_tables]
    ranker = ranking.ranker._replace(tables=tables.reshape(-1))
    ranking = replace(ranking, sources=(), selection=selection, ranker=ranker)
    return clf.with_model(replace(model, ranking=ranking))


def as_matrix(names, n_features):
    """Names as rows of features."""
    indptr = np.concatenate([[0], np.cumsum([len(name) for name in names])])
    flat = np.concatenate(names)
    return sp.csr_array((np.ones(flat.size), flat, indptr), shape=(len(names), n_features))


def rows_of(X):
    """Rows as sessions take them."""
    bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [(X.indices[a:b].astype(np.int64), X.data[a:b].astype(float)) for a, b in bounds]


def microseconds(clfs, queries):
    """CPU time of a single answer of each model: the best of rounds in turn."""
    sessions, best = [clf.session() for clf in clfs], [np.inf] * len(clfs)
    for _ in range(ROUNDS):
        for i, session in enumerate(sessions):
            began = time.process_time()
            for query in queries:
                session.predict_one(*query, k=5)
            best[i] = min(best[i], 1e6 * (time.process_time() - began) / len(queries))
    return best


def bytes_of(source):
    """Bytes of each array of a source and of what kernels take, once; by what they belong to."""
    found = {id(a.base if a.base is not None else a): a for a in vars(source).values()
             if isinstance(a, np.ndarray)}  # fmt: skip
    for array in source.prepared:
        if isinstance(array, np.ndarray):
            found.setdefault(id(array.base if array.base is not None else array), array)
    n_features = source.idf.size
    of_features = sum(a.nbytes for a in found.values() if a.size in (n_features, n_features + 1))
    return sum(a.nbytes for a in found.values()) - of_features, of_features


def main() -> None:
    if not (DATA / "eurlex57k").is_dir():
        sys.exit(f"left out: no data at {DATA}")
    data, rng = datasets.load("eurlex57k", root=DATA), np.random.default_rng(0)
    tags = datasets.load("citeulike-t", root=DATA).label_names
    X, Y = sp.csr_array(data.X_train), sp.csr_array(data.y_train)
    named = as_matrix(typical_words(X, Y, rng), X.shape[1])
    # Quicker to train, and as slow to answer.
    clf = SWNNRanker(learn_weights=False, calibrate=False, centroids=False)
    clf.fit(X, Y, label_features=named, feature_names=data.feature_names)
    assert clf.names_used_, "the names do not help, so there is nothing to measure"
    clf.add_labels(label_features=tags[: N_NAMES - Y.shape[1]])
    plain = without_names(clf)
    queries = rows_of(sp.csr_array(data.X_test)[:QUERIES])
    without, with_names = microseconds((plain, clf), queries)
    source = clf.current_model().ranking.names
    of_names, of_features = bytes_of(source)
    found = source.find(clf.model_, clf.model_.queries(data.X_test[:QUERIES]), clf.options)
    row = {
        "names": N_NAMES,
        "listed": float((found.labels >= 0).sum(axis=1).mean()),
        "us": without,
        "us_with_names": with_names,
        "bytes_per_name": of_names / N_NAMES,
        "bytes_per_feature": of_features / X.shape[1],
    }
    print(
        f"{N_NAMES:,} names: a query takes {without:.0f} us without them, {with_names:.0f} us with "
        f"them (+{with_names - without:.1f}); {row['listed']:.1f} labels listed, "
        f"{row['bytes_per_name']:.0f} bytes a name, {row['bytes_per_feature']:.0f} a feature"
    )
    row |= {"what": "cost", "command": "make bench-names"}
    record("names", [row], ("what", "dataset", "method"))


if __name__ == "__main__":
    main()
