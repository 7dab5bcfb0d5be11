"""Blocks put together are the file, from any position on."""

import gzip

import numpy as np
import pytest
from scipy.sparse import vstack

from swnn_xp.io import FormatError, Position, iter_xmc, read_xmc

TEXT = b"5 4 3\r\n0,2 1:0.5 3:1\n\n 0:2\r\n1 3:1 1:0.25 3:1\n2\n\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_blocks_are_the_file(make, engine, pack, rows):
    path = make(pack(TEXT))
    X, Y = read_xmc(path)
    blocks = list(iter_xmc(path, rows, engine=engine))
    assert all(block.X.shape[0] == rows for block in blocks[:-1])
    np.testing.assert_array_equal(vstack([b.X for b in blocks]).toarray(), X.toarray())
    np.testing.assert_array_equal(vstack([b.y for b in blocks]).toarray(), Y.toarray())
    for i, block in enumerate(blocks):
        assert block.first_row == i * rows
        lines = TEXT.split(b"\n")[: block.end.line]
        assert block.end.offset == sum(len(line) + 1 for line in lines)
        rest = list(iter_xmc(path, rows, resume=block.end, engine=engine))
        assert [b.first_row for b in rest] == [b.first_row for b in blocks[i + 1 :]]
        for ours, theirs in zip(rest, blocks[i + 1 :], strict=True):
            np.testing.assert_array_equal(ours.X.toarray(), theirs.X.toarray())
            assert ours.end == theirs.end


def test_errors_come_after_the_good_blocks(make, engine):
    blocks = iter_xmc(make(b"3 2 2\n0 1:1\n1 0:1\n0 9:1\n"), 1, engine=engine)
    assert [next(blocks).end.row, next(blocks).end.row] == [1, 2]
    with pytest.raises(FormatError, match=r":4: feature '9'"):
        next(blocks)


def test_row_counts_are_checked(make, engine):
    for data, line in ((b"2 2 2\n0 1:1\n", 3), (b"1 2 2\n0 1:1\n0 1:1\n", 3)):
        with pytest.raises(FormatError, match=f":{line}: the header says"):
            list(iter_xmc(make(data), 1, engine=engine))
    position = Position(row=1, line=2, offset=12)
    with pytest.raises(FormatError, match=":3: the header says 2 rows"):
        list(iter_xmc(make(b"2 2 2\n0 1:1\n"), 1, resume=position, engine=engine))


def test_no_rows(make, engine):
    assert list(iter_xmc(make(b"0 2 2\n"), engine=engine)) == []
    with pytest.raises(ValueError, match="rows must be"):
        next(iter_xmc(make(b"0 2 2\n"), 0))
