"""Rows of a block of JSON records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from swnn_xp.bulk.records import KnownFeatures
from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.json_lines import JsonRecord


class RecordRows:
    """Turns records into rows, as the service does, and counts names that are left out.

    Parameters
    ----------
    known : KnownFeatures

    Examples
    --------
    >>> rows = RecordRows(KnownFeatures(2, {"dog": 0, "cat": 1}))
    >>> record = JsonRecord(1, {"features": {"cat": 2, "cow": 1}})
    >>> rows("new.jsonl", [record]).toarray().tolist(), rows.unknown
    ([[0.0, 2.0]], 1)
    """

    def __init__(self, known: KnownFeatures) -> None:
        self._known = known
        self.seen = self.unknown = 0

    def __call__(self, path: PathLike, records: Sequence[JsonRecord]) -> csr_array:
        """Rows of some records; errors name the path and the line."""
        rows = []
        for record in records:
            given = record.fields
            try:
                row = self._known.row(
                    given.get("features"), given.get("indices"), given.get("values"), _text(given)
                )
            except ValueError as error:
                raise FormatError(path, record.line, str(error)) from None
            if row.unknown is not None:
                self.seen += len(given["features"])
                self.unknown += len(row.unknown)
            rows.append(row)
        ends = np.cumsum([0, *(row.indices.size for row in rows)], dtype=np.int64)
        indices = np.concatenate([np.empty(0, np.int64), *(row.indices for row in rows)])
        values = np.concatenate([np.empty(0), *(row.values for row in rows)])
        return csr_array((values, indices, ends), (len(rows), self._known.n_features))


def _text(fields: dict[str, Any]) -> Any:
    """A text without anything is an empty one, as in training."""
    return "" if fields.get("text", "") is None else fields.get("text")
