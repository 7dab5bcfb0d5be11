"""From counts of terms to values: the operations of scikit-learn, in its order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Weighting(NamedTuple):
    """How counts of terms become values; the fields are parameters of `TfidfVectorizer`."""

    sublinear_tf: bool = False
    binary: bool = False
    norm: str | None = "l2"

    def check(self) -> None:
        """Raise a ValueError that names a field with a value that it can't have."""
        for name, holds in (
            ("sublinear_tf", isinstance(self.sublinear_tf, bool)),
            ("binary", isinstance(self.binary, bool)),
            ("norm", self.norm in (None, "l1", "l2")),
        ):
            if not holds:
                raise ValueError(f"{name} can't be {getattr(self, name)!r}")


def weigh(
    counts: NDArray[np.float64], idf: NDArray[np.float64] | None, how: Weighting
) -> NDArray[np.float64]:
    """Turn the counts of a row into its values, in place; ``idf`` holds those of its features.

    Examples
    --------
    >>> weigh(np.array([3.0, 4.0]), None, Weighting()).tolist()
    [0.6, 0.8]
    """
    values = counts
    if how.binary:
        values[:] = 1.0
    if how.sublinear_tf:
        np.log(values, values)
        values += 1.0
    if idf is not None:
        values *= idf
    if how.norm is not None and values.size:
        total = _norm(values, how.norm)
        if total != 0.0:
            values /= total
    return values


def _norm(values: NDArray[np.float64], norm: str) -> Any:
    # `accumulate` adds one by one, as scikit-learn's loop does; `sum` would add in pairs.
    if norm == "l1":
        return np.add.accumulate(np.abs(values))[-1]
    return np.sqrt(np.add.accumulate(values * values)[-1])
