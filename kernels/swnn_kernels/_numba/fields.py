"""The fields of a record, from its annotations: arrays with a dtype, numbers, other records.

A record within a record is given as its table.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np


class Field(NamedTuple):
    """One field of a record."""

    name: str
    dtype: Any  # of an array; None for a number or a record
    is_float: bool
    record: Any  # class of a record; None for the others


@cache
def _fields_of(record: Any) -> tuple[Field, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(_field(name, hints[name]) for name in record._fields)


def _field(name: str, hint: Any) -> Field:
    dtype = (get_args(hint)[1:] or (None,))[0]
    return Field(name, dtype, hint is float, hint if hasattr(hint, "_fields") else None)


def fields_of(record: Any) -> tuple[Field, ...]:
    """Fields of a NamedTuple class in their order."""
    return _fields_of(record)  # a call of the cache itself is not typed for classes


def check_arrays(record: Any) -> None:
    """Raise TypeError unless every array of a record is what its annotation says."""
    for field, value in zip(fields_of(type(record)), record, strict=True):
        if field.dtype is None:
            continue
        if value.dtype != field.dtype or value.ndim != 1 or not value.flags.c_contiguous:
            name = np.dtype(field.dtype).name
            raise TypeError(f"{field.name} must be a contiguous array of {name}")
