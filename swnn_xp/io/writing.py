"""Write the repository's text format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from swnn_xp.io.files import PathLike, open_output

_BLOCK = 4096


def write_xmc(path: PathLike, X: Any, y: Any) -> None:
    """Write a file of the Extreme Classification Repository; `read_xmc` gives the same back.

    Values are written with the fewest digits that give the same number back. The file appears
    complete or not at all, and is compressed if its name ends in ``.gz`` or ``.xz``.

    Parameters
    ----------
    path : str or path
        File to write.
    X : sparse or dense, (rows, features)
        Finite numbers. Repeated entries are summed.
    y : sparse or dense, (rows, labels)
        An entry other than 0 is a label of its row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> write_xmc(path, np.array([[0, 0.5], [3, 0]], np.float32), np.array([[1, 1, 0], [0, 0, 0]]))
    >>> print(path.read_text())
    2 2 3
    0,1 1:0.5
     0:3
    """
    x, y = _canonical(X), _canonical(y)
    y.eliminate_zeros()
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"X has {x.shape[0]} rows and y has {y.shape[0]}")
    bad = np.flatnonzero(~np.isfinite(x.data))
    if len(bad):
        row = int(np.searchsorted(x.indptr, bad[0], side="right")) - 1
        raise ValueError(f"X, row {row}: {x.data[bad[0]]} can't be written")
    with open_output(path) as stream:
        stream.write(b"%d %d %d\n" % (x.shape[0], x.shape[1], y.shape[1]))
        for begin in range(0, x.shape[0], _BLOCK):
            end = min(begin + _BLOCK, x.shape[0])
            stream.write("".join(_lines(x, y, begin, end)).encode("ascii"))


def _canonical(matrix: Any) -> csr_array:
    rows = csr_array(matrix, copy=True)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise ValueError(
            f"{rows.dtype} of shape {rows.shape} can't be written: a matrix of numbers can"
        )
    rows.sum_duplicates()
    return rows


def _lines(x: csr_array, y: csr_array, begin: int, end: int) -> Iterator[str]:
    features = x.indptr[begin : end + 1] - x.indptr[begin]
    labels = y.indptr[begin : end + 1] - y.indptr[begin]
    inside = slice(x.indptr[begin], x.indptr[end])
    texts = _shortest(x.data[inside])
    pairs = [f"{i}:{v}" for i, v in zip(x.indices[inside].tolist(), texts, strict=True)]
    ids = [str(i) for i in y.indices[y.indptr[begin] : y.indptr[end]].tolist()]
    for row in range(end - begin):
        yield ",".join(ids[labels[row] : labels[row + 1]])
        yield " "
        yield " ".join(pairs[features[row] : features[row + 1]])
        yield "\n"


def _shortest(data: npt.NDArray[Any]) -> list[str]:
    if data.dtype.kind == "b":
        data = data.astype(np.uint8)
    if data.dtype.kind != "f":
        return [str(value) for value in data.tolist()]
    if data.dtype.itemsize > 8:
        data = data.astype(np.float64)
    texts = data.astype("U32")
    if data.dtype.itemsize < 8:
        # Readers round to float64 and then to float32. Where the shortest text of the float32 does
        # not survive both roundings, the shortest text of the same number as float64 does.
        lost = texts.astype(np.float64).astype(data.dtype) != data
        texts[lost] = data[lost].astype(np.float64).astype("U32")
    return [text.removesuffix(".0") for text in texts.tolist()]
