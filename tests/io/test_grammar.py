"""Every corner of the rule table in swnn_xp.io.grammar, one line of text each."""

import pytest

from swnn_xp.io import FormatError, read_xmc
from swnn_xp.io.grammar import (
    FLOAT32_LIMIT,
    LineError,
    Row,
    Rules,
    is_blank,
    parse_header,
    parse_row,
)

TOLERANT = Rules(n_features=10, n_labels=10)
STRICT = TOLERANT._replace(strict=True)

BOTH = {
    b"1,2 3:0.5 4:1\n": Row([1, 2], [3, 4], [0.5, 1.0]),
    b"2,1 3:1\n": Row([1, 2], [3], [1.0]),
    b" 3:1\n": Row([], [3], [1.0]),
    b"1\n": Row([1], [], []),
    b"1 \n": Row([1], [], []),
    b"\n": Row([], [], []),
    b" \n": Row([], [], []),
    b"01 003:1\n": Row([1], [3], [1.0]),
    b"1 3:0\n": Row([1], [3], [0.0]),
    b"1 3:-2.5e+01 4:.5 5:5. 6:1E2\n": Row([1], [3, 4, 5, 6], [-25.0, 0.5, 5.0, 100.0]),
    b"1 3:0.1000000000000000055511151231257827021181583404541015625\n": Row([1], [3], [0.1]),
    b"1 3:1e-400\n": Row([1], [3], [0.0]),
}
ONLY_TOLERANT = {
    b"1 3:1": Row([1], [3], [1.0]),
    b"1 3:1\r\n": Row([1], [3], [1.0]),
    b"1 3:1\r": Row([1], [3], [1.0]),
    b"1  3:1\n": Row([1], [3], [1.0]),
    b"1\t3:1\n": Row([1], [3], [1.0]),
    b"\t3:1\n": Row([], [3], [1.0]),
    b"1 3:1 \t \n": Row([1], [3], [1.0]),
    b"  \n": Row([], [], []),
    b"3:1 4:1\n": Row([], [3, 4], [1.0, 1.0]),
    b"1,1 3:1\n": Row([1], [3], [1.0]),
    b"1 4:1 3:2\n": Row([1], [3, 4], [2.0, 1.0]),
    b"1 3:0.1 3:0.2 3:0.3\n": Row([1], [3], [0.1 + 0.2 + 0.3]),
    b"1 3:1e39 3:-1e39\n": Row([1], [3], [0.0]),
    b"1 3:+1\n": Row([1], [3], [1.0]),
}
REFUSED = [
    b"1,,2 3:1\n", b"1, 3:1\n", b",1 3:1\n", b"1, 2 3:1\n", b", 3:1\n", b" 1,2 3:1\n", b" 1\n",
    b"10 3:1\n", b"1 10:1\n", b"-1 3:1\n", b"+1 3:1\n", b"1 -3:1\n", b"1 +3:1\n", b"1.0 3:1\n",
    b"1e0 3:1\n", b"1_0 3:1\n", b"1 3:1_0\n", b"1 3\n", b"1 3:\n", b"1 :1\n", b"1 3:x\n",
    b"1 3::1\n", b"1 3:1:2\n", b"1 3: 1\n", b"1 3 :1\n", b"1 3:1,4:1\n", b"1 3:nan\n",
    b"1 3:inf\n", b"1 3:-Infinity\n", b"1 3:1e999\n", b"1 3:1e39\n", b"1 3:3e38 3:3e38\n",
    b"1 3:1e\n", b"1 3:.\n", b"1 3:+-1\n", b"1 3:0x1\n", b"1 3:1e1.5\n", b"1 3:--1\n",
    b"1 3:1\r\r\n", b"1 3:1\r4:1\n", b"\r1 3:1\n", b"1 3:1\x00\n", b"\x00\n", b"1 3:1\x0b4:1\n",
    b"1\xc2\xa03:1\n", "1 ٣:1\n".encode(), "1 3:٣\n".encode(), b"# 3:1\n",
    b"1 99999999999999999999999:1\n", b"1 3:1 # c\n", b"\xef\xbb\xbf1 3:1\n",
    b"9" * 5000 + b" 3:1\n",
]  # fmt: skip


@pytest.mark.parametrize("line", BOTH, ids=repr)
def test_read_by_both(line):
    assert parse_row(line, TOLERANT) == parse_row(line, STRICT) == BOTH[line]


@pytest.mark.parametrize("line", ONLY_TOLERANT, ids=repr)
def test_refused_by_strict_only(line):
    assert parse_row(line, TOLERANT) == ONLY_TOLERANT[line]
    with pytest.raises(LineError):
        parse_row(line, STRICT)


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: repr(line[:30]))
def test_refused_by_both(line):
    for rules in (TOLERANT, STRICT):
        with pytest.raises(LineError):
            parse_row(line, rules)


@pytest.mark.parametrize("strict", [False, True])
def test_the_fast_reader_obeys_the_same_table(make, strict):
    for line in (*BOTH, *ONLY_TOLERANT, *REFUSED):
        path = make(b"1 10 10\n" + line)
        found = []
        for engine in ("python", "fast"):
            try:
                X, Y = read_xmc(path, strict=strict, engine=engine)
                found.append((X.indices.tolist(), X.data.tolist(), Y.indices.tolist()))
            except FormatError as error:
                found.append(str(error))
        assert found[0] == found[1], line


def test_limits():
    wide = Rules()
    assert parse_row(b"2147483646 2147483646:1", wide) == Row([2**31 - 2], [2**31 - 2], [1.0])
    for line in (b"2147483647 1:1", b"1 2147483647:1", b"1 18446744073709551617:1"):
        with pytest.raises(LineError, match="is not below"):
            parse_row(line, wide)
    exact = int(FLOAT32_LIMIT)
    assert parse_row(b"1 3:%d" % (exact - 2**80), wide).values == [float(exact - 2**80)]
    with pytest.raises(LineError, match="out of range"):
        parse_row(b"1 3:%d" % exact, wide)
    assert parse_row(b"1 3:1e308", wide._replace(limit=float("inf"))).values == [1e308]


def test_messages_say_what_was_found():
    for line, what in {
        b"1 3:abc": "feature 3: 'abc' is not a number",
        b"1 x": "'x' is not a feature:value pair",
        b"1,,2 3:1": "label '' is not a whole number",
        b"12 3:1": "label '12' is not below 10",
        b"1 12:1": "feature '12' is not below 10",
        b"1 3:nan": "feature 3: 'nan' is not a number",
        b"1 3:1e999": "feature 3: inf is out of range",
    }.items():
        with pytest.raises(LineError) as caught:
            parse_row(line, TOLERANT)
        assert str(caught.value) == what


def test_comments_and_first_id():
    rules = Rules(n_features=3, comments=True, first_feature=1)
    assert parse_row(b"1 1:1 3:2# x 9:9\r\n", rules) == Row([1], [0, 2], [1.0, 2.0])
    assert parse_row(b" \t# only this\n", rules) is None
    assert parse_row(b"\n", rules) == Row([], [], [])
    for line in (b"1 0:1", b"1 4:1", b"1 1:1 \r# x\n"):
        with pytest.raises(LineError):
            parse_row(line, rules)


def test_header():
    for strict in (True, False):
        assert parse_header(b"3 20 5\n", strict=strict) == (3, 20, 5)
        assert parse_header(b"0 0 2147483647\n", strict=strict) == (0, 0, 2**31 - 1)
        for line in (
            b"3 20",
            b"3 20 5 6",
            b"",
            b"-3 20 5",
            b"3 x 5",
            b"3 20 2147483648",
            b"3,20,5",
        ):
            with pytest.raises(LineError):
                parse_header(line + b"\n", strict=strict)
    for line in (b"3 20 5", b"3 20 5\r\n", b" 3\t20  5 \n"):
        assert parse_header(line, strict=False) == (3, 20, 5)
        with pytest.raises(LineError):
            parse_header(line, strict=True)


def test_blank():
    assert all(map(is_blank, (b"", b"\n", b" \t\r\n", b"\r")))
    assert not any(map(is_blank, (b"0\n", b"\r\r\n", b"\x00")))
