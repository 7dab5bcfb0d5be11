"""A bounded run of every target: all seeds, then inputs that hypothesis makes of them."""

import os
import random

import pytest
from fuzz.seeds import seeds
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("SWNN_FUZZ", "200"))


def strays(target):
    """Seeds with pieces put in, taken out and written over."""
    pieces = st.one_of(st.binary(max_size=6), st.sampled_from([b"", b"\n", b" ", b"0", b"9" * 20]))

    @st.composite
    def stray(draw):
        data = bytearray(draw(st.sampled_from(seeds(target))))
        for _ in range(draw(st.integers(0, 3))):
            place = draw(st.integers(0, len(data)))
            data[place : place + draw(st.integers(0, 9))] = draw(pieces)
        return bytes(data)

    return stray() | st.binary(max_size=60)


@pytest.mark.filterwarnings("ignore")  # a command may warn; what it must not do is fail
@pytest.mark.parametrize("target", TARGETS)
def test_target(target):
    if target.startswith("http"):
        pytest.importorskip("swnn_xp.serve", exc_type=ImportError)
    for data in random.Random(0).sample(seeds(target), min(EXAMPLES, len(seeds(target)))):
        TARGETS[target](data)

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(strays(target))
    def run(data):
        TARGETS[target](data)

    run()
