"""Read whole files."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from swnn_xp.io.assemble import Assembler
from swnn_xp.io.errors import PathLike
from swnn_xp.io.grammar import FLOAT32_LIMIT, MAX_ID, Rules
from swnn_xp.io.opening import Engine, Header, Table, check_end, open_table

_BLOCK = 1 << 16


def read_xmc(
    path: PathLike,
    *,
    strict: bool = False,
    header: Header = "auto",
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> tuple[csr_array, csr_array]:
    r"""Read a file of the Extreme Classification Repository.

    The first line is ``rows features labels``; each further line is a row: labels joined by commas,
    a space, ``feature:value`` pairs. ``swnn_xp.io.grammar`` lists what is accepted and refused.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz, recognised by its first bytes.
    strict : bool, default False
        Refuse common deviations from the format: CRLF, more than one blank, unsorted or repeated
        features, a missing last newline, ...
    header : bool or "auto", default "auto"
        True: the first line must be a header. False: there is none, and the widths are one more
        than the largest ids. "auto": there is none if the first line has a colon.
    dtype : float32 or float64, default float32
        Type of the values.
    engine : {"auto", "fast", "python"}, default "auto"
        "fast" compiles its parser (once, then from numba's cache), "python" is slow but starts
        immediately, "auto" decides by the file's size. The results are the same.

    Returns
    -------
    X : csr_array of `dtype`, (rows, features)
        Ids ascending, repeated features summed, explicit zeros kept.
    y : csr_array of bool, (rows, labels)

    Raises
    ------
    FormatError
        A ValueError that names the file, the line and what was found there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = path.write_text("2 4 3\n0,2 1:0.5 3:1\n 0:2\n")
    >>> X, y = read_xmc(path)
    >>> X.toarray()
    array([[0. , 0.5, 0. , 1. ],
           [2. , 0. , 0. , 0. ]], dtype=float32)
    >>> y.indices
    array([0, 2], dtype=int32)
    """
    rules = Rules(strict=strict, limit=limit_of(dtype))
    with open_table(path, rules, header=header, engine=engine) as table:
        if table.n_rows is None:
            return _read_rows(table, dtype, None, None)
        return _read_rows(table, dtype, table.rules.n_features, table.rules.n_labels)


def read_svmlight(
    path: PathLike,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    one_based: bool = False,
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> tuple[csr_array, csr_array]:
    r"""Read a file without header: ``label,label feature:value ...``, one row per line.

    An empty line is a row without labels and features; ``#`` starts a comment.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz.
    n_features, n_labels : int, optional
        Widths of the matrices; ids beyond are errors. Default: one more than the largest id found.
    one_based : bool, default False
        Feature ids begin at 1 (label ids are always taken as they stand).
    dtype, engine
        As for `read_xmc`.

    Returns
    -------
    X : csr_array of `dtype`
    y : csr_array of bool

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("1 1:0.5 3:1\n0,2 2:7 # a comment\n")
    >>> X, y = read_svmlight(path, one_based=True)
    >>> X.shape, y.shape
    ((2, 3), (2, 3))
    """
    for name, width in (("n_features", n_features), ("n_labels", n_labels)):
        if width is not None and not 0 <= width <= MAX_ID + 1:
            raise ValueError(f"{name} must be between 0 and {MAX_ID + 1}, not {width}")
    rules = Rules(
        n_features=MAX_ID + 1 if n_features is None else n_features,
        n_labels=MAX_ID + 1 if n_labels is None else n_labels,
        comments=True,
        first_feature=int(one_based),
        limit=limit_of(dtype),
    )
    with open_table(path, rules, header=False, engine=engine) as table:
        return _read_rows(table, dtype, n_features, n_labels)


def limit_of(dtype: npt.DTypeLike) -> float:
    """The smallest magnitude that `dtype` can't hold."""
    wanted = np.dtype(dtype)
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {wanted}")
    return FLOAT32_LIMIT if wanted == np.float32 else float("inf")


def _read_rows(
    table: Table, dtype: npt.DTypeLike, n_features: int | None, n_labels: int | None
) -> tuple[csr_array, csr_array]:
    assembler = Assembler(dtype)
    while wanted := table.wanted(_BLOCK):
        parsed = table.reader.take(wanted)
        if not len(parsed.label_counts):
            break
        assembler.add(parsed)
    check_end(table)
    return assembler.finish(n_features, n_labels)
