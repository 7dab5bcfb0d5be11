"""Labels as users give them: a matrix, lists of labels, or one class for each row.

Inside, labels are always columns of a 0/1 matrix. `Targets` remembers how they were given, so that
predictions come back in the same form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.rows.canonical import label_rows, to_csr
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.rows.records import LabelRows

Form = Literal["sparse", "dense", "lists", "classes"]
"""A sparse or dense 0/1 matrix, a list of labels for each row, or one class for each row."""
FORMS: tuple[Form, ...] = ("sparse", "dense", "lists", "classes")

_ROWS = list, tuple, set, frozenset, np.ndarray


class Targets(NamedTuple):
    """How labels were given."""

    form: Form = "sparse"
    values: NDArray[Any] | None = None
    """The number that a column stands for; None where it is the column's name, or its number."""

    @property
    def by_value(self) -> bool:
        """Whether users speak of labels by value, not by column."""
        return self.form in ("lists", "classes")


class Encoded(NamedTuple):
    """Labels as columns."""

    labels: LabelRows
    targets: Targets
    names: list[str] | None
    """Names of the columns, if the labels had them."""


def encode_labels(y: Any, names: Sequence[str] | None = None, classes: Any = None) -> Encoded:
    """Turn labels into columns, one for each label in ascending order.

    Parameters
    ----------
    y : matrix, lists of labels, one class for each row, or what this function returned
    names : list of str, optional
        Names of the columns. Where the labels are texts, they are looked up among the names.
    classes : sequence, optional
        All labels there may be, where they are given by value; default: those in y.

    Examples
    --------
    >>> encode_labels([["web", "mail"], ["web"]]).names
    ['mail', 'web']
    >>> encode_labels([3, 7, 3]).targets.values.tolist()
    [3, 7]
    """
    if isinstance(y, Encoded):
        return y
    form, given, columns = _form_of(y)
    if form in ("sparse", "dense"):
        return Encoded(label_rows(given, "y"), Targets(form), columns if names is None else None)
    flat, sizes = _values(given, form)
    wanted = flat if classes is None else list(dict.fromkeys(_scalars(classes)))
    _check_alike([*wanted, *flat])
    seen = sorted(set(flat)) if classes is None else wanted
    if _are_texts(seen):
        vocabulary = list(names) if names is not None else seen
        return Encoded(_columns(flat, sizes, vocabulary), Targets(form), vocabulary)
    return Encoded(_columns(flat, sizes, seen), Targets(form, np.asarray(seen)), None)


def encode_more(
    y: Any, targets: Targets, names: Sequence[str] | None, n_labels: int, *, grow: bool
) -> Encoded:
    """Turn labels of further rows into the columns of a fitted model.

    Labels that it does not know get columns behind the others if ``grow``; else they are refused.
    """
    form, given, _ = _form_of(y, by_value=targets.by_value)
    if form in ("sparse", "dense"):
        return Encoded(label_rows(given, "y"), targets, None)
    known = targets.values.tolist() if targets.values is not None else names
    if known is None:
        raise ValueError(
            f"y holds labels by value, but the model was fitted with a matrix of {n_labels} "
            "columns without names"
        )
    flat, sizes = _values(given, form)
    vocabulary = list(known)
    if grow and targets.by_value:
        _check_alike([*vocabulary, *flat])
        vocabulary += sorted(set(flat) - set(vocabulary))
    labels = _columns(flat, sizes, vocabulary)
    if targets.values is None:
        return Encoded(labels, targets, vocabulary)
    return Encoded(labels, targets._replace(values=np.asarray(vocabulary)), None)


def label_matrix(labels: LabelRows) -> sp.csr_array:
    """Labels as a 0/1 matrix."""
    ones = np.ones(labels.indices.size, np.int8)
    return to_csr(labels.indptr, labels.indices, ones, (labels.n_rows, labels.n_labels))


def names_of_values(values: NDArray[Any] | None) -> list[str] | None:
    """Names of labels that were given by value; None without values."""
    return None if values is None else [str(value) for value in values.tolist()]


def stored_targets(targets: Targets) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a saved model keeps: an entry of the manifest, and arrays."""
    arrays = {} if targets.values is None else {"label_values": targets.values}
    return {"form": targets.form}, arrays


def targets_from(
    meta: Any, arrays: Mapping[str, NDArray[Any]], n_labels: int, has_names: bool
) -> Targets:
    """Read back what `stored_targets` gave; ValueError if it makes no sense. Default: a matrix."""
    if meta is None:
        return Targets()
    form = meta.get("form") if isinstance(meta, dict) else None
    if form not in FORMS:
        raise ValueError(f"labels are of an unknown form: {meta!r}")
    values = arrays.get("label_values")
    targets = Targets(form, values)
    if values is not None and (values.shape != (n_labels,) or values.dtype.kind not in "biuf"):
        raise ValueError("label_values must be one number for each label")
    if targets.by_value and values is None and not has_names:
        raise ValueError(f"labels given as {form} have neither names nor label_values")
    return targets


def _form_of(y: Any, by_value: bool = False) -> tuple[Form, Any, list[str] | None]:
    """Tell in which form labels are given, and name the columns of a table."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    y = host_matrix(y)
    if sp.issparse(y):
        return "sparse", y, None
    if hasattr(y, "columns"):  # a table of pandas or Polars
        columns = list(y.columns)
        return "dense", y.to_numpy(), columns if _are_texts(columns) else None
    if isinstance(y, list | tuple) and _are_lists(y, by_value):
        return "lists", y, None
    array = np.asarray(y)
    if array.ndim == 1:
        is_lists = array.dtype == object and any(isinstance(row, _ROWS) for row in array)
        return "lists" if is_lists else "classes", array, None
    if array.ndim == 2 and array.dtype.kind == "U":
        return "lists", array.tolist(), None
    return "dense", array, None


def _are_lists(rows: Sequence[Any], by_value: bool) -> bool:
    """Whether rows hold labels: texts, sets, or of different lengths; otherwise it is a matrix."""
    if not rows or not all(isinstance(row, _ROWS) for row in rows):
        return False
    return (
        by_value
        or any(isinstance(row, set | frozenset) for row in rows)
        or len({len(row) for row in rows}) > 1
        or any(isinstance(value, str) for row in rows for value in row)
    )


def _values(given: Any, form: Form) -> tuple[list[Any], NDArray[np.int64]]:
    """All labels in the order of the rows, and how many each row has."""
    if form == "classes":
        flat = _scalars(given)
        return flat, np.ones(len(flat), np.int64)
    rows = [row if isinstance(row, _ROWS) else (row,) for row in given]
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    return _scalars(chain.from_iterable(rows)), sizes


def _scalars(values: Iterable[Any]) -> list[Any]:
    """Python's own texts and numbers; a ValueError names the first that is neither."""
    found = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in found:
        if isinstance(value, complex):
            raise ValueError(f"Complex data not supported: {value!r} is not a label")
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(
                f"Unknown label type: continuous. A label must be a text or a whole number, "
                f"got {value!r}"
            )
        if not isinstance(value, str | int | float):
            raise ValueError(f"a label must be a text or a whole number, got {value!r}")
    return found


def _check_alike(values: Sequence[Any]) -> None:
    kinds = {isinstance(value, str) for value in values}
    if len(kinds) > 1:
        raise ValueError("labels must be all texts or all numbers, not both")


def _are_texts(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)


def _columns(flat: list[Any], sizes: NDArray[np.int64], vocabulary: Sequence[Any]) -> LabelRows:
    """Rows of column numbers; a label that the vocabulary lacks is named."""
    number = {value: i for i, value in enumerate(vocabulary)}
    try:
        columns = np.fromiter((number[value] for value in flat), np.int64, len(flat))
    except KeyError as error:
        raise ValueError(
            f"y: label {error.args[0]!r} is not among the {len(number)} known"
        ) from None
    at_row = np.repeat(np.arange(sizes.size), sizes)
    ones = np.ones(columns.size, np.int8)
    return label_rows(sp.coo_array((ones, (at_row, columns)), (sizes.size, len(vocabulary))), "y")
