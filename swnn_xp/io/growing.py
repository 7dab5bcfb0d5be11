"""Arrays that grow at their end without a second copy of what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST = 1 << 12
_MOST = 1 << 22


class Growing:
    """A one-dimensional array to append to.

    Chunks that are joined at the end need twice the memory, and so does growth by copying.
    Resizing in place goes through ``realloc``, which moves large blocks by remapping their pages;
    that is cheap enough to grow by a bounded step, so that little is held in reserve.

    Examples
    --------
    >>> numbers = Growing(np.int32)
    >>> numbers.extend(np.array([3, 1])); numbers.extend(np.array([4]))
    >>> numbers.finish()
    array([3, 1, 4], dtype=int32)
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array = np.empty(0, dtype)
        self._size = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append `values`, converted to the array's type."""
        end = self._size + len(values)
        if end > len(self._array):
            step = min(max(end, _LEAST), _MOST)
            # No view of the array leaves this object before `finish`.
            self._array.resize(end + step, refcheck=False)
        self._array[self._size : end] = values
        self._size = end

    def finish(self) -> npt.NDArray[Any]:
        """Give up what is held in reserve and hand over the array."""
        self._array.resize(self._size, refcheck=False)
        return self._array
