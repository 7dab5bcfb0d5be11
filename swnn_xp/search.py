"""Search by the array API: similarities, the S best rows of each query, and merging such lists.

``Sim = J**beta * cos``: the cosine, discounted by the Jaccard index of the two supports. Ties:
larger similarity first, then the smaller row. Only similarities above 0 count.

What is called an id here is the number of a row in whatever is searched; the model turns it into
the user's id.
"""

from __future__ import annotations

from collections.abc import Callable

from array_api_compat import array_namespace, device

from swnn_xp.results import Neighbours
from swnn_xp.rows.quantise import DOT_SCALE
from swnn_xp.rows.records import Array


def similarity(
    dots: Array, overlaps: Array, query_sizes: Array, row_sizes: Array, beta: float
) -> Array:
    """Similarities of pairs (query, row); the arguments broadcast against each other.

    Parameters
    ----------
    dots : float64 array
        Dot products of quantised rows (exact integers).
    overlaps, query_sizes, row_sizes : float64 arrays
        Shared features, features of the query, features of the row.
    beta : float
        Exponent of the Jaccard index, at least 0.

    Returns
    -------
    float64 array
        Negative where the cosine is.

    Examples
    --------
    >>> import numpy as np
    >>> three, five = np.asarray(3.0), np.asarray(5.0)
    >>> float(similarity(np.asarray(2.0**46), three, three, five, 1.0))
    0.6
    """
    cos = dots * DOT_SCALE
    if beta == 0:
        return cos
    return cos * power(jaccard(overlaps, query_sizes, row_sizes), beta)


def jaccard(overlaps: Array, query_sizes: Array, row_sizes: Array) -> Array:
    """Jaccard index of two supports from their sizes and overlap; 0 where both are empty."""
    xp = array_namespace(overlaps)
    union = query_sizes + row_sizes - overlaps
    return overlaps / xp.where(union > 0, union, xp.ones_like(union))


def power(base: Array, exponent: float) -> Array:
    """Raise to a power; 0, 1 and 2 in plain IEEE operations, so that every backend agrees."""
    xp = array_namespace(base)
    if exponent == 0:
        return xp.ones_like(base)
    if exponent == 1:
        return base
    if exponent == 2:
        return base * base
    return xp.pow(base, xp.asarray(exponent, dtype=base.dtype, device=base.device))


def top_rows(
    sims: Array, n_neighbors: int, kth_largest: Callable[[Array, int], Array] | None = None
) -> Neighbours:
    """Best rows of each query.

    Parameters
    ----------
    sims : float64 array (n_queries, n_rows)
    n_neighbors : int
        How many to keep; more than there are rows is fine.
    kth_largest : callable, optional
        ``kth_largest(sims, k)`` gives each row's k-th largest value, shape (n_queries, 1). The
        array API has no partition, so a namespace that has one passes it; the default sorts.

    Returns
    -------
    Neighbours
        Padded to ``n_neighbors`` slots.

    Examples
    --------
    >>> import numpy as np
    >>> top_rows(np.asarray([[0.5, 0.0, 0.9, 0.5]]), 2).ids.tolist()
    [[2, 0]]
    """
    xp = array_namespace(sims)
    n_queries, n_rows = sims.shape
    kept = min(n_neighbors, n_rows)
    if n_queries == 0 or kept == 0:
        return empty_neighbours(xp, sims, n_queries, n_neighbors)
    ids = _chosen_ids(xp, sims, kept, kth_largest or kth_by_sorting)
    best = xp.take_along_axis(sims, ids, axis=1)
    # Ids ascend here, and the sort is stable: of equal similarities the smaller id comes first.
    order = xp.argsort(-best, axis=1, stable=True)
    ids, best = xp.take_along_axis(ids, order, axis=1), xp.take_along_axis(best, order, axis=1)
    found = Neighbours(
        xp.where(best > 0, best, xp.zeros_like(best)), xp.where(best > 0, ids, -xp.ones_like(ids))
    )
    return padded(found, n_neighbors)


def padded(found: Neighbours, slots: int) -> Neighbours:
    """Pad neighbours to this many slots at least; see `pad_to`."""
    ids, similarities = pad_to(slots, found.ids, found.similarities)
    return Neighbours(similarities, ids)


def pad_to(slots: int, ids: Array, *values: Array) -> tuple[Array, ...]:
    """Pad the ids and values of one query or of many to this many slots at least.

    New slots hold id -1 and value 0.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in pad_to(2, np.asarray([[4]]), np.asarray([[0.5]]))]
    [[[4, -1]], [[0.5, 0.0]]]
    """
    *before, held = ids.shape
    if held >= slots:
        return ids, *values
    xp, shape = array_namespace(ids), (*before, slots - held)

    def with_more(part: Array, empty: int) -> Array:
        one = xp.full((1,) * len(shape), empty, dtype=part.dtype, device=device(part))
        return xp.concat([part, xp.broadcast_to(one, shape)], axis=-1)

    return with_more(ids, -1), *(with_more(part, 0) for part in values)


def without_self(found: Neighbours, own: Array, slots: int) -> Neighbours:
    """The first neighbours of each query that are not the query's own row.

    Parameters
    ----------
    found : Neighbours
        One more than ``slots``, so that the own row may be among them.
    own : int64 array (n_queries,)
        Id of each query's own row.
    slots : int

    Examples
    --------
    >>> import numpy as np
    >>> found = Neighbours(np.zeros((2, 3)), np.asarray([[4, 2, 7], [1, 0, 3]]))
    >>> without_self(found, np.asarray([2, 9]), 2).ids.tolist()
    [[4, 7], [1, 0]]
    """
    xp = array_namespace(found.ids)
    is_own = xp.astype(found.ids == own[:, None], xp.int8)
    order = xp.argsort(is_own, axis=1, stable=True)[:, :slots]  # the own row last
    sims, ids = (xp.take_along_axis(part, order, axis=1) for part in found)
    gone = xp.take_along_axis(is_own, order, axis=1) > 0  # where there are no more rows
    return Neighbours(
        xp.where(gone, xp.zeros_like(sims), sims), xp.where(gone, -xp.ones_like(ids), ids)
    )


def shifted(found: Neighbours, by: int) -> Neighbours:
    """Neighbours with their ids raised by the number of the first row that was searched.

    Examples
    --------
    >>> import numpy as np
    >>> shifted(Neighbours(np.asarray([[0.5, 0.0]]), np.asarray([[1, -1]])), 10).ids.tolist()
    [[11, -1]]
    """
    xp = array_namespace(found.ids)
    return Neighbours(found.similarities, xp.where(found.ids >= 0, found.ids + by, found.ids))


def merge(first: Neighbours, second: Neighbours, n_neighbors: int) -> Neighbours:
    """Best rows out of two lists over different rows (shards, or an index and its latest rows).

    Examples
    --------
    >>> import numpy as np
    >>> a = Neighbours(np.asarray([[0.9, 0.5]]), np.asarray([[7, 3]]))
    >>> b = Neighbours(np.asarray([[0.5, 0.0]]), np.asarray([[1, -1]]))
    >>> merge(a, b, 2).ids.tolist()
    [[7, 1]]
    """
    xp = array_namespace(first.ids)
    ids = xp.concat([first.ids, second.ids], axis=1)
    sims = xp.concat([first.similarities, second.similarities], axis=1)
    # Empty slots have similarity 0, so they end up last whatever their id.
    order = xp.argsort(ids, axis=1, stable=True)
    ids, sims = xp.take_along_axis(ids, order, axis=1), xp.take_along_axis(sims, order, axis=1)
    order = xp.argsort(-sims, axis=1, stable=True)[:, :n_neighbors]
    return Neighbours(
        xp.take_along_axis(sims, order, axis=1), xp.take_along_axis(ids, order, axis=1)
    )


def _chosen_ids(xp: Array, sims: Array, kept: int, kth_largest: Callable) -> Array:
    """Ids of the ``kept`` best rows of each query, ascending."""
    threshold = kth_largest(sims, kept)
    chosen = sims >= threshold
    if int(xp.sum(xp.astype(chosen, xp.int64))) > kept * sims.shape[0]:
        # Several rows tie for the last slot: the smaller ids get it.
        above = sims > threshold
        tied = chosen & ~above
        slots = kept - xp.sum(xp.astype(above, xp.int64), axis=1, keepdims=True)
        chosen = above | (tied & (xp.cumulative_sum(xp.astype(tied, xp.int64), axis=1) <= slots))
    return xp.reshape(xp.nonzero(chosen)[1], (sims.shape[0], kept))


def kth_by_sorting(sims: Array, k: int) -> Array:
    """Each row's k-th largest value, shape (rows, 1)."""
    xp = array_namespace(sims)
    return xp.sort(sims, axis=1)[:, sims.shape[1] - k, None]


def empty_neighbours(xp: Array, like: Array, n_queries: int, slots: int) -> Neighbours:
    """Neighbours that are all empty slots, on the device of ``like``."""
    shape, dev = (n_queries, slots), device(like)
    return Neighbours(
        xp.zeros(shape, dtype=like.dtype, device=dev),
        xp.full(shape, -1, dtype=xp.int64, device=dev),
    )
