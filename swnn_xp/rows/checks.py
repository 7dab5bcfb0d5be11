"""What a matrix must satisfy to become rows; the same checks and messages on every device.

Array-API functions only: `canonical` calls them on the host, `on_device` wherever the data is.
"""

from __future__ import annotations

from collections.abc import Callable

from array_api_compat import array_namespace

from swnn_xp.rows.records import Array

MAX_COLUMNS = 2**31 - 1

RowOf = Callable[[int], int]
"""Turns the number of a stored entry into the number of its row."""


def require_matrix(ndim: int, name: str) -> None:
    """Refuse what is not two-dimensional."""
    if ndim != 2:
        raise ValueError(
            f"{name} must be 2-D (rows x columns), got {ndim}-D. "
            "Reshape your data: a single row is [row]"
        )


def require_columns(n_columns: int, name: str) -> None:
    """Refuse more columns than int32 can number."""
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"{name}: {n_columns} columns are more than the 2**31 - 1 supported")


def require_real(is_real: bool, dtype: object, name: str) -> None:
    """Refuse complex numbers, texts and whatever else is not a real number."""
    if "complex" in str(dtype):
        raise ValueError(f"{name}: Complex data not supported, got dtype {dtype}")
    if not is_real:
        raise ValueError(f"{name}: values must be real numbers, got dtype {dtype}")


def require_in_range(columns: Array, n_columns: int, row_of: RowOf, name: str) -> None:
    """Refuse columns outside the matrix."""
    xp = array_namespace(columns)
    if not columns.shape[0] or (int(xp.min(columns)) >= 0 and int(xp.max(columns)) < n_columns):
        return
    at = _first(xp, (columns < 0) | (columns >= n_columns))
    raise ValueError(
        f"{name}: row {row_of(at)} has column {int(columns[at])}, outside 0..{n_columns - 1}"
    )


def require_finite(columns: Array, values: Array, row_of: RowOf, name: str) -> None:
    """Refuse NaN and infinity."""
    xp = array_namespace(values)
    finite = xp.isfinite(values)
    if not bool(xp.all(finite)):
        at = _first(xp, ~finite)
        raise ValueError(f"{name}: {entry(columns, row_of, at)} is {_shown(values[at])}")


def entry(columns: Array, row_of: RowOf, at: int) -> str:
    """Name a stored entry by its row and column."""
    return f"row {row_of(at)}, column {int(columns[at])}"


def _shown(value: Array) -> str:
    """NaN and infinity as scikit-learn writes them."""
    return {"nan": "NaN"}.get(str(float(value)), str(float(value)))


def _first(xp: Array, marked: Array) -> int:
    return int(xp.argmax(xp.astype(marked, xp.int8)))
