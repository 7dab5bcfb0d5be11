"""`ShardedClassifier`: the classifier over all shards, and the tasks of its workers.

A block of queries is searched on every shard, the neighbours are merged pairwise, the shards look
up the labels of the winners, and one worker counts the votes or ranks the candidates.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask import delayed
from distributed import Client, Future, wait

from swnn_kernels.records import Cap, check_voters, rows_to_rescore
from swnn_xp.backends import Settings
from swnn_xp.bulk.sources import widened
from swnn_xp.capped import Shortlist, best_of, merge_shortlists, shifted_shortlist
from swnn_xp.checks import check_count, check_names, check_width
from swnn_xp.classifier import SWNNClassifier
from swnn_xp.distributed import shard_folder
from swnn_xp.distributed.cluster import count_workers, submit
from swnn_xp.distributed.shards import (
    FileRecipe,
    MatrixRecipe,
    RankerRecipe,
    Recipe,
    Shard,
    as_paths,
    even_bounds,
    make_shard,
    read_shape,
    remaining_rows,
    rows_recipes,
    slice_file,
    without_rows,
)
from swnn_xp.loading import AnyModel, is_ranked
from swnn_xp.results import Neighbours, RankedProbabilities, Ranking
from swnn_xp.rows.canonical import canonical_rows, label_rows, to_csr
from swnn_xp.rows.input_kind import host_array
from swnn_xp.rows.records import LabelRows, QuantisedRows, stack_rows, take_rows
from swnn_xp.search import merge, padded, shifted
from swnn_xp.vote import rank_in_blocks, ranked_shares


class KnownLabels(NamedTuple):
    """Labels of some rows: those of row ``ids[i]`` are at position i of ``labels``."""

    ids: Any
    labels: LabelRows


def search_shard(shard: Shard, X: Any, n_neighbors: int, beta: float) -> Neighbours:
    """Find a shard's best rows for each query: of a matrix, or of quantised rows."""
    model, options = shard.clf.current_model(), shard.clf.options
    quantised = isinstance(X, QuantisedRows)
    queries = model.placement.rows(X) if quantised else model.queries(X).scaled
    found = model.with_ids(model.search(queries, n_neighbors, beta, options))
    kind = X.quantised if quantised else X
    return shifted(Neighbours(*model.placement.as_input_kind(kind, *found)), shard.first)


def counts_of_shard(shard: Shard) -> Any:
    """Number of a shard's rows of each feature."""
    return shard.clf.current_model().feature_counts


def make_cap(postings: int, n_neighbors: int, counts: list[Any]) -> Cap:
    """How far a capped search of all shards goes."""
    return Cap(postings, rows_to_rescore(postings, n_neighbors), np.sum(counts, axis=0))


def shortlist_of_shard(shard: Shard, X: Any, beta: float, cap: Cap) -> Shortlist:
    """Find a shard's rows for a capped search: those with the best scores."""
    model, options = shard.clf.current_model(), shard.clf.options
    quantised = isinstance(X, QuantisedRows)
    queries = X if quantised else model.queries(X).scaled
    found = model.shortlist(queries, beta, cap, options)
    ids = model.with_ids(Neighbours(found.similarities, found.ids)).ids
    return shifted_shortlist(found._replace(ids=host_array(ids)), shard.first)


def labels_of_winners(shard: Shard, found: Neighbours) -> KnownLabels:
    """Look up the labels of the shard's own rows among the winners."""
    model = shard.clf.model_
    ids = np.unique(found.ids) - shard.first
    ids = ids[(ids >= 0) & (ids < model.next_id)]
    return KnownLabels(ids + shard.first, take_rows(model.checked_labels, model.positions_of(ids)))


def vote_of_winners(
    found: Neighbours, known: list[KnownLabels], alpha: float, k: int, memory_budget: int
) -> RankedProbabilities:
    """Count the votes of rows whose labels the shards have looked up, in the shards' order."""
    best = rank_in_blocks(*_winners(found, known), alpha, k, memory_budget)
    return RankedProbabilities(*best, ranked_shares(best, found, alpha))


def rank_of_winners(
    ranker: Shard, X: Any, found: Neighbours, known: list[KnownLabels], k: int
) -> RankedProbabilities:
    """Rank the candidates of rows whose labels the shards have looked up."""
    found, labels = _winners(found, known)
    clf = ranker.clf
    model = replace(clf.current_model(), labels=labels)
    placed = Neighbours(*map(model.placement.to_device, found))
    best = model.ranking.rank_found(model, model.queries(X), placed, k, clf.options)
    likely = model.ranking.probabilities(best, placed)
    return RankedProbabilities(*model.placement.as_input_kind(X, *best, likely))


def _winners(found: Neighbours, known: list[KnownLabels]) -> tuple[Neighbours, LabelRows]:
    """Number the winners by their labels' rows: votes are summed by label, so nothing changes."""
    ids = np.concatenate([some.ids for some in known])
    positions = np.where(found.ids >= 0, np.searchsorted(ids, found.ids), -1)
    return Neighbours(found.similarities, positions), stack_rows([some.labels for some in known])


def rank_by_shard(shard: Shard, X: Any, settings: Settings, k: int) -> RankedProbabilities:
    """Rank labels where one shard has all rows."""
    clf = shard.clf
    if not is_ranked(clf):  # a ranker has the settings of its training
        clf = copy(clf).set_params(**settings._asdict())
    return clf.topk_probabilities(X, k)


def same(block: Any) -> Any:
    """Return a block: as a task's result, it can be made again when its worker dies."""
    return block


BLOCK = 1024
"""Queries that are sent together."""


class ShardedClassifier:
    """Training rows spread over the workers of a Dask cluster; answers like `SWNNClassifier`.

    Made by `from_matrices`, `from_files`, `from_fitted` or `load`. When the worker that holds a
    shard dies, another makes the shard again from its recipe. The answers equal those of one
    estimator over all rows to the last bit, ties included.

    Parameters
    ----------
    client : distributed.Client
    recipes : sequence
        How to make each shard, in the order of their rows.
    n_features, n_labels : int
        Width of X and of y.
    ranker : Recipe, optional
        How to make the ranker of a `SWNNRanker`: neighbours that the shards find are merged, then
        ranked once.
    postings : int, default 0
        Cap of the search, as the ranker was trained with; 0 is exact.
    **params
        Those of `SWNNClassifier`: ``n_neighbors``, ``alpha``, ``beta``, ``backend``, ... The
        backend is the shards': ``"cupy"`` on workers that have a GPU.

    Attributes
    ----------
    n_features_in_, n_labels_, n_samples_fit_ : int
        Width of X and of y, and the number of training rows.

    Examples
    --------
    >>> from swnn_xp.distributed import ShardedClassifier, connect
    >>> X, y = [[1, 1, 0], [0, 1, 1], [1, 0, 0]], [[1, 0], [0, 1], [1, 0]]
    >>> with connect("local:1") as client:
    ...     clf = ShardedClassifier.from_matrices(client, X, y, n_shards=2, n_neighbors=2)
    ...     clf.predict_topk([[1, 1, 0]], k=1).labels.compute().tolist()
    [[0]]
    """

    def __init__(
        self,
        client: Client,
        recipes: Sequence[Recipe],
        n_features: int,
        n_labels: int,
        *,
        ranker: Recipe | None = None,
        postings: int = 0,
        **params: Any,
    ) -> None:
        self._clf = SWNNClassifier(**params)
        self._clf.check_params()
        if not recipes or not sum(recipe.n_rows for recipe in recipes):
            raise ValueError("there are no training rows")
        self.client, self._postings = client, postings
        self.recipes = list(recipes)
        self.n_features_in_, self.n_labels_ = n_features, n_labels
        self.n_samples_fit_ = sum(recipe.n_rows for recipe in recipes)
        params = self._clf.get_params()
        self._shards = [self._submit(make_shard, recipe, params) for recipe in recipes]
        self._ranker = None if ranker is None else self._submit(make_shard, ranker, params)
        self._counts: list[Future] = []  # of the shards, once a capped search needs them

    @classmethod
    def from_matrices(
        cls, client: Client, X: Any, y: Any, *, n_shards: int | None = None, **params: Any
    ) -> Self:
        """Spread rows that are in memory here.

        The scheduler keeps a copy of them, from which a lost shard is made again.

        Parameters
        ----------
        client : distributed.Client
        X, y : matrices, as for `SWNNClassifier.fit`
        n_shards : int, optional
            Default: one for each worker.
        **params
            Those of `SWNNClassifier`.
        """
        rows, labels = canonical_rows(X, "X"), label_rows(y, "y")
        n_rows = rows.indptr.size - 1
        if n_rows != labels.n_rows:
            raise ValueError(f"X has {n_rows} rows but y has {labels.n_rows}")
        X = to_csr(rows.indptr, rows.indices, rows.values, (n_rows, rows.n_features))
        ones = (labels.indices >= 0).astype("int8")
        y = to_csr(labels.indptr, labels.indices, ones, (n_rows, labels.n_labels))
        bounds = even_bounds(n_rows, _count(client, n_shards))
        recipes = [
            MatrixRecipe(X[start:stop], y[start:stop], start) for start, stop in pairwise(bounds)
        ]
        return cls(client, recipes, X.shape[1], y.shape[1], **params)

    @classmethod
    def from_files(
        cls,
        client: Client,
        files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        n_shards: int | None = None,
        **params: Any,
    ) -> Self:
        """Spread the rows of text files that all workers can read under the same path.

        Parameters
        ----------
        client : distributed.Client
        files : path, or sequence of paths
            One file is cut by rows. Several files have a header each, their rows are numbered
            consecutively, and a shard is one file or several.
        n_shards : int, optional
            Default: one for each worker, at most one for each file if there are several.
        **params
            Those of `SWNNClassifier`.
        """
        paths = as_paths(files)
        if not paths:
            raise ValueError("there are no training rows")
        shapes = [read_shape(path) for path in paths]
        wanted = _count(client, n_shards)
        per_file = wanted if len(paths) == 1 else 1
        slices = [s for path in paths for s in slice_file(path, per_file) if s.n_rows]
        widths = max(s.n_features for s in shapes), max(s.n_labels for s in shapes)
        bounds = even_bounds(len(slices), wanted)
        recipes, first = [], 0
        for start, stop in pairwise(bounds):
            recipes.append(FileRecipe(tuple(slices[start:stop]), *widths, first))
            first += recipes[-1].n_rows
        return cls(client, recipes, *widths, **params)

    @classmethod
    def load(cls, client: Client, path: str | os.PathLike[str], **params: Any) -> Self:
        """Open what `save` wrote, or a single model; workers map it from the shared path.

        A single model is one shard that every worker opens; the queries are spread over them.
        """
        found = shard_folder.read(path, **params)
        widths = found.n_features, found.n_labels
        return cls(
            client, found.recipes, *widths, ranker=found.ranker, postings=found.postings,
            **found.params,
        )  # fmt: skip

    @classmethod
    def from_fitted(
        cls, client: Client, clf: AnyModel, *, n_shards: int | None = None, **params: Any
    ) -> Self:
        """Spread the rows of a fitted `SWNNClassifier` or `SWNNRanker`, with what it has learned.

        Parameters
        ----------
        client : distributed.Client
        clf : SWNNClassifier or SWNNRanker
            Rows that were removed from it are left out, and `kneighbors` numbers the others
            consecutively.
        n_shards : int, optional
            Default: one for each worker.
        **params
            Parameters of how the shards compute, such as ``backend``.
        """
        model = clf.current_model()  # once: other threads may change the original meanwhile
        rows, labels = remaining_rows(model)
        recipes = rows_recipes(rows, labels, model.feature_weights, _count(client, n_shards))
        ranker = RankerRecipe(without_rows(clf, model)) if is_ranked(clf) else None
        widths = model.n_features, model.labels.n_labels
        params = model.ranking.settings._asdict() | params
        postings = model.ranking.postings
        return cls(client, recipes, *widths, ranker=ranker, postings=postings, **params)

    def save(self, path: str | os.PathLike[str], label_names: list[str] | None = None) -> None:
        """Write the shards, each on its worker, to a folder on a shared path, for `load`."""
        check_names(label_names, self.n_labels_, "label_names")
        shard_folder.begin(path)
        futures = [
            self._submit(shard_folder.save_shard, shard, shard_folder.shard_path(path, i))
            for i, shard in enumerate(self._shards)
        ]
        if self._ranker is not None:
            place = shard_folder.ranker_path(path)
            futures.append(self._submit(shard_folder.save_shard, self._ranker, place))
        saved = self.client.gather(futures)
        shard_folder.finish(
            path,
            saved[: len(self._shards)],
            ranker=saved[-1] if self._ranker is not None else None,
            n_features=self.n_features_in_,
            n_labels=self.n_labels_,
            params=shard_folder.answer_params(self._clf.get_params()),
            postings=self._postings,
            label_names=label_names,
        )

    def wait(self) -> Self:
        """Wait until all shards are made; an error in one is raised."""
        made = self._shards + ([] if self._ranker is None else [self._ranker])
        wait(made)
        for shard in made:
            if shard.status == "error":
                shard.result()
        return self

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> Neighbours:
        """Find the most similar training rows, as dask arrays: ``found.ids.compute()``."""
        wanted = self._clf.n_neighbors if n_neighbors is None else n_neighbors
        check_count(wanted, "n_neighbors")
        wanted, blocks, beta = int(wanted), self._blocks(X), self._clf.settings.beta
        found = [self.find_rows(block, wanted, beta, self._postings) for block in blocks]
        futures = [self._submit(padded, future, wanted) for future in found]
        return Neighbours(*_arrays(futures, blocks, wanted, ("float64", "int64")))

    def predict_topk(self, X: Any, k: int = 5) -> Ranking:
        """Rank the labels of each row, as dask arrays: ``best.labels.compute()``."""
        check_count(k, "k")
        blocks = self._blocks(X)
        futures = [self.rank_block(block, k) for block in blocks]
        return Ranking(*_arrays(futures, blocks, k, ("int64", "float64")))

    def rank_block(self, X: Any, k: int) -> Future:
        """Rank the labels of a few rows: a future of `RankedProbabilities`."""
        X = _rows(X, self.n_features_in_)
        block, settings = self._submit(same, X), self._clf.settings
        if len(self._shards) == 1 and self._ranker is None:
            return self._submit(rank_by_shard, self._shards[0], block, settings, k)
        voters = check_voters(min(settings.n_neighbors, self.n_samples_fit_))
        found = self._merged(block, voters, settings.beta, self._postings)
        known = [self._submit(labels_of_winners, shard, found) for shard in self._shards]
        if self._ranker is not None:
            return self._submit(rank_of_winners, self._ranker, block, found, known, k)
        memory = int(self._clf.memory_budget)
        return self._submit(vote_of_winners, found, known, settings.alpha, k, memory)

    def find_rows(self, queries: Any, n_neighbors: int, beta: float, postings: int = 0) -> Future:
        """Find the rows most similar to a matrix or quantised rows: a future of `Neighbours`.

        ``postings`` caps the search; 0 is exact.
        """
        return self._merged(self._submit(same, queries), n_neighbors, beta, postings)

    def _merged(self, block: Future, n_neighbors: int, beta: float, postings: int) -> Future:
        """Search all shards and merge what they find pairwise."""
        wanted = min(n_neighbors, self.n_samples_fit_)  # S may be far beyond the number of rows
        if not postings:
            parts = [self._submit(search_shard, s, block, wanted, beta) for s in self._shards]
            return self._joined(merge, parts, wanted)
        if not self._counts:
            self._counts = [self._submit(counts_of_shard, shard) for shard in self._shards]
        cap = self._submit(make_cap, postings, wanted, self._counts)
        parts = [self._submit(shortlist_of_shard, s, block, beta, cap) for s in self._shards]
        kept = rows_to_rescore(postings, wanted)
        return self._submit(best_of, self._joined(merge_shortlists, parts, kept), wanted)

    def _joined(self, join: Any, level: list[Future], n_kept: int) -> Future:
        """Merge lists of the shards' rows pairwise."""
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            joined = [self._submit(join, one, other, n_kept) for one, other in pairs]
            level = joined + level[len(joined) * 2 :]
        return level[0]

    def _blocks(self, X: Any) -> list[Any]:
        rows = canonical_rows(X, "X")
        check_width(rows.n_features, self.n_features_in_)
        shape = (rows.indptr.size - 1, rows.n_features)
        X = to_csr(rows.indptr, rows.indices, rows.values, shape)
        return [X[start : start + BLOCK] for start in range(0, max(shape[0], 1), BLOCK)]

    def _submit(self, task: Any, *args: Any) -> Future:
        return submit(self.client, task, *args)


def _count(client: Client, n_shards: int | None) -> int:
    if n_shards is None:
        return count_workers(client)
    check_count(n_shards, "n_shards")
    return n_shards


def _rows(X: Any, n_features: int) -> Any:
    """Rows as wide as the model: a single shard would refuse narrower ones, several would not."""
    check_width(X.shape[1], n_features)
    if sp.issparse(X) and X.shape[1] == n_features:
        return X
    return widened(sp.csr_array(X), n_features)


def _arrays(
    futures: list[Future], blocks: list[Any], width: int, dtypes: tuple[str, str]
) -> list[Any]:
    """Two dask arrays out of futures of pairs, such as similarities and ids (and more)."""
    pairs = [delayed(future) for future in futures]
    return [
        da.concatenate(
            [
                da.from_delayed(pair[side], (block.shape[0], width), dtype)
                for pair, block in zip(pairs, blocks, strict=True)
            ]
        )
        for side, dtype in enumerate(dtypes)
    ]
