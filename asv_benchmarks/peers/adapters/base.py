"""What the comparison asks of a peer."""

from __future__ import annotations

import resource

import numpy as np
from environments import can_import


class TooSlow(Exception):
    """A peer that has seen that it can't finish within the limit of the process."""


class Peer:
    """A library under test; retrieval peers find rows by cosine, classifiers rank labels.

    `ready_*` turn queries into the library's own form and are not timed. Answers are
    (ids, scores), each (n_queries, n_answers), best first, -1 and 0 where there is none.
    """

    title: str
    kind: str  # "retrieval" or "classifier"
    package: str  # what pip installs
    module: str  # what Python imports
    own_requirements = ()  # of an environment of its own; empty: it shares ours
    exact = True
    compiles = False  # on first use, which does not count as building
    note = ""
    names = None  # of features and labels: arguments of `fit`, for a peer that takes them
    takes_names = False

    def missing(self):
        """Why the peer can't run here, or None."""
        return None if can_import(self) else f"{self.package} not installed"

    def prepare(self, X, Y):
        """Turn training rows into the library's own form; not timed."""

    def build(self, X, Y, n_answers):
        """Index unit rows X (CSR, float32), or learn X and Y (CSR, 0/1)."""
        raise NotImplementedError

    def ready_one(self, row):
        """One query, a CSR matrix of one row."""
        return row

    def ask_one(self, query):
        raise NotImplementedError

    def save(self, folder):
        """Write the model into an empty folder, as the library does; for its size on disk."""
        raise NotImplementedError

    def ready_many(self, rows):
        """Many queries; here for a library that has no call for many."""
        return [self.ready_one(rows[i : i + 1]) for i in range(rows.shape[0])]

    def ask_many(self, queries):
        answers = [self.ask_one(query) for query in queries]
        return tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))


class BatchPeer(Peer):
    """A library that takes matrices: one query is a matrix of one row."""

    def ask_one(self, query):
        return self.ask_many(query)

    def ready_many(self, rows):
        return rows

    def ready_one(self, row):
        return self.ready_many(row)

    def ask_many(self, queries):
        raise NotImplementedError


def refuse_beyond_limit(seconds, n_done, n_labels):
    """Raise TooSlow if models of all labels would take longer than this process may.

    ``seconds`` is the CPU time that ``n_done`` labels, chosen at random, have taken.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_CPU)
    projected = seconds / n_done * n_labels
    if limit != resource.RLIM_INFINITY and projected > 1.2 * limit:
        raise TooSlow(
            f"stopped: about {projected:,.0f} CPU seconds of training, "
            f"projected from {n_done:,} of {n_labels:,} labels"
        )


def padded(ids, scores, n_answers):
    """One row of answers, filled up with -1 and 0."""
    row, values = np.full((1, n_answers), -1), np.zeros((1, n_answers))
    row[0, : len(ids)], values[0, : len(ids)] = ids, scores
    return row, values


def sorted_rows(matrix, n_answers):
    """The largest entries of each row of a CSR matrix."""
    answers = []
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        ids, values = matrix.indices[start:stop], matrix.data[start:stop]
        order = np.argsort(-values, kind="stable")[:n_answers]
        answers.append(padded(ids[order], values[order], n_answers))
    return tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))
