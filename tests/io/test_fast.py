"""The fast reader agrees with the plain one on every input: the same arrays, or the same error."""

import gzip
import lzma
import subprocess
import sys

import both_readers
import numpy as np
import pytest
from both_readers import READERS, outcome
from hypothesis import example, given, settings
from hypothesis import strategies as st

from swnn_kernels.parse import powers_of_five, scaled
from swnn_xp.io import fast, iter_xmc, read_xmc

POWERS = powers_of_five()
NUMBERS = st.one_of(
    st.integers(0, 12).map(str),
    st.floats(0, 100).map(repr),
    st.floats(width=32).map(repr),
    st.sampled_from(["0", "1e5", "-.5", "+2", "5.", "1E-3", "1e39", "1e-320", "1e400", ".", "-"]),
    st.sampled_from(["123456789012345678901", "0.10000000000000000555", "0x1", "1e", "nan"]),
)
PAIRS = st.builds("{}:{}".format, st.integers(0, 11), NUMBERS)
LABELS = st.lists(st.integers(0, 6).map(str), max_size=4).map(",".join)
BLANKS = st.sampled_from([" ", " ", " ", "  ", "\t", ""])


@st.composite
def files(draw):
    """Text near the format: right, nearly right, and then damaged in a few places."""
    rows = [
        draw(LABELS) + "".join(draw(BLANKS) + pair for pair in draw(st.lists(PAIRS, max_size=5)))
        + draw(st.sampled_from(["", "", "", " ", "\r", " \t", "#", " # 1:1"]))
        for _ in range(draw(st.integers(0, 6)))
    ]  # fmt: skip
    count = max(0, len(rows) + draw(st.sampled_from([0, 0, 0, 0, 1, -1])))
    header = draw(st.sampled_from([f"{count} 12 7", f"{count} 12 7", f"{count} 12 7\r", "", "3 4"]))
    text = "\n".join([header, *rows]) + draw(st.sampled_from(["\n", "\n", "", "\n\n", "\n \r\n"]))
    data = bytearray(text.encode())
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 2))] = draw(
            st.lists(st.sampled_from(b"0123456789:,.+-eE \t\r\n#x_\x00\xef\xbb\xbf"), max_size=3)
        )
    return bytes(data)


@st.composite
def tidy_files(draw):
    """Text that strict accepts, with one piece of text put in somewhere at most."""
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        features = sorted(draw(st.sets(st.integers(0, 11), max_size=3)))
        pairs = " ".join(f"{i}:{draw(st.sampled_from(['1', '0.5', '-2e3']))}" for i in features)
        rows.append(f"{draw(LABELS.filter(has_no_repeats))} {pairs}\n")
    text = f"{len(rows)} 12 7\n" + "".join(rows)
    place = draw(st.integers(0, len(text)))
    extra = ["", " ", "\t", "\r", "\n", "+", "-", "0", "1", ":", ",", ".", "1,", "3:1 ", " 4:1"]
    return (text[:place] + draw(st.sampled_from(extra)) + text[place:]).encode()


def has_no_repeats(labels):
    return len(set(labels.split(","))) == labels.count(",") + 1


def agree(path, data, chunk):
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "_CHUNK", chunk)
        for read, options in READERS:
            both_readers.agree(read, path, **options)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "rows.txt"


@settings(max_examples=250, deadline=None)
@given(data=files(), chunk=st.sampled_from([4, 7, 64, 4096]))
def test_near_the_format(scratch, data, chunk):
    agree(scratch, data, chunk)


@settings(max_examples=250, deadline=None)
@given(tidy_files())
@example(b"1 9 9\n1 3:+1\n")
@example(b"1 9 9\n1 3:1 \n")
@example(b"1 9 9\n1,1 3:1\n")
@example(b"1 9 9\n3:1\n")
@example(b"1 9 9\n1\t3:1\n")
def test_near_what_strict_accepts(scratch, data):
    agree(scratch, data, 4096)


@settings(max_examples=120, deadline=None)
@given(
    rows=st.lists(st.sampled_from(b"0123:,.+-e \t\r\n#"), max_size=40).map(bytes),
    chunk=st.sampled_from([4, 4096]),
)
@example(rows=b"\r", chunk=4)
@example(rows=b"\n\r\n", chunk=4)
@example(rows=b"2,2 3:1\n1,2:3\n", chunk=4096)
@example(rows=b" 1 2:3\n", chunk=4096)
@example(rows=b"1 2147483648:1\n", chunk=4096)
@example(rows=b"00000000001 00000000002:1\n", chunk=4096)
def test_far_from_the_format(scratch, rows, chunk):
    agree(scratch, b"2 12 7\n" + rows, chunk)
    agree(scratch, rows, chunk)


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(scratch, data):
    agree(scratch, data, 16)


@settings(max_examples=1200, deadline=None)
@given(st.integers(0, 10**19 - 1), st.integers(-360, 330))
@example(2**53 + 1, 0)
@example(2**54 + 2, 0)
@example(2**63 + 2**10, 0)
@example(9007199254740993, 22)
@example(9007199254740993, -3)
@example(17976931348623157, 292)
@example(1, -400)
def test_scaled_rounds_correctly_or_declines(digits, q):
    value = scaled(np.uint64(digits), q, POWERS)
    if not np.isnan(value):
        assert value == float(f"{digits}e{q}")
    else:
        assert not 1e-300 < float(f"{digits}e{q}") < 1e300


def test_scaled_reads_back_every_shortest_text():
    bits = np.random.default_rng(0).integers(0, 2**63, 50_000).astype(np.uint64)
    for number in bits.view(np.float64).tolist():
        if 1e-300 < number < 1e300:
            mantissa, _, exponent = f"{number:.16e}".partition("e")
            digits = np.uint64(int(mantissa.replace(".", "")))
            assert scaled(digits, int(exponent) - 16, POWERS) == number


def test_ties_between_two_floats_go_to_even():
    for odd in range(2**54 + 1, 2**54 + 129, 2):
        for digits, q in ((odd, 0), (5 * odd, -1), (25 * odd, -2)):
            assert scaled(np.uint64(digits), q, POWERS) == float(f"{digits}e{q}")


@pytest.mark.parametrize("order", ["ascending", "descending", "repeated"])
def test_long_rows_are_sorted_and_summed(make, order):
    rng = np.random.default_rng(0)
    ids = {"ascending": np.arange(500), "descending": np.arange(500)[::-1]}.get(
        order, rng.integers(0, 50, 500)
    )
    pairs = " ".join(f"{i}:{v!r}" for i, v in zip(ids, rng.normal(size=500).tolist(), strict=True))
    path = make(f"1 500 9\n3,1,2,3 {pairs}\n".encode())
    plain = outcome(read_xmc, path, engine="python", dtype=np.float64)
    assert outcome(read_xmc, path, engine="fast", dtype=np.float64) == plain


def test_lines_longer_than_the_buffer_and_blocks_across_it(make, monkeypatch):
    monkeypatch.setattr(fast, "_CHUNK", 64)
    rows = [b"1 " + b" ".join(b"%d:%d" % (i, i + j) for i in range(j * 7)) for j in range(40)]
    path = make(gzip.compress(b"40 1000 2\n" + b"\n".join(rows) + b"\n"))
    plain = [(b.X.toarray(), b.end) for b in iter_xmc(path, 7, engine="python")]
    quick = [(b.X.toarray(), b.end) for b in iter_xmc(path, 7, engine="fast")]
    assert [end for _, end in quick] == [end for _, end in plain]
    for (ours, _), (theirs, _) in zip(quick, plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_importing_and_small_files_do_not_load_numba(make):
    path = make(b"1 2 2\n0 1:1\n")
    code = (
        "import sys; from swnn_xp.io import read_xmc; import swnn_xp.store; read_xmc(sys.argv[1])\n"
        "sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("spoil", ["cut", "flip"])
def test_a_bad_line_before_damage_comes_first(make, pack, spoil):
    """Longer than what is decompressed in one step, with a bad line in it, and damage anywhere."""
    lines = [b"%d %d:0.%d" % (i % 7, i % 9, i * i) for i in range(2000)]
    lines[1000] = b"x 1:1"
    packed = pack(b"2000 9 7\n" + b"\n".join(lines) + b"\n")
    seen = set()
    for place in range(20, len(packed), len(packed) // 40):
        damaged = bytearray(packed)
        if spoil == "cut":
            del damaged[place:]
        else:
            damaged[place] ^= 64
        path = make(bytes(damaged))
        both_readers.agree(read_xmc, path)
        seen.add(outcome(read_xmc, path, engine="fast")[1])
    assert {None, 1002} <= seen
