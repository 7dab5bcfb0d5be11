"""Every CUDA kernel on the CPU, a thread for each CUDA thread, under sanitizers."""

import shutil

import oracle
import pytest
from cuda.shim import LISTED, barriers, build, check, found_without, padded, problem, run

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(scope="module", params=["address", "thread"])
def program(request, tmp_path_factory):
    return build(request.param, tmp_path_factory.mktemp("shim"))


CASES = [
    # seed, S, k, alpha, beta, threads, tile
    (0, 4, 3, 1, 1, 32, 8),
    (1, 5, 9, 2, 0, 4, 8192),
    (2, 30, 2, 0, 2, 16, 5),
    (3, 1, 1, 1, 1, 8, 23),
]
LARGE = 4, 11, 7, 1, 1, 64, 16


@pytest.mark.parametrize("listed", [LISTED, 6], ids=["listed", "all rows"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_are_exact(program, tmp_path, case, listed):
    """Also where a query lists more rows than fit, so that all are looked at."""
    seed, *settings = case
    check(program, tmp_path, seed, settings, listed=listed)


@pytest.mark.parametrize("program", ["fibers"], indirect=True)
def test_many_problems_are_exact(program, tmp_path):
    for seed in range(20):
        for listed in (LISTED, 6):
            check(program, tmp_path, seed, (3, 7, 1, 1, 64, 16), listed=listed)
            check(program, tmp_path, seed, (9, 2, 2, 2, 32, 16), listed=listed)


@pytest.mark.full  # ThreadSanitizer takes ten seconds for so many threads
@pytest.mark.parametrize("program", ["thread"], indirect=True)
def test_two_warps_race_nowhere(program, tmp_path):
    seed, *settings = LARGE
    check(program, tmp_path, seed, settings)


@pytest.mark.parametrize("program", ["address"], indirect=True)
def test_two_warps_are_exact(program, tmp_path):
    seed, *settings = LARGE
    check(program, tmp_path, seed, settings)


@pytest.mark.parametrize("order", [1, 2])
def test_order_of_blocks_and_delays_at_barriers_do_not_matter(program, tmp_path, order):
    check(program, tmp_path, 2, (30, 2, 0, 2, 16, 5), env={"SHIM_SEED": str(order)})


def test_removed_rows_are_not_found(program, tmp_path):
    X, Y, Q = problem(1)
    removed = [0, 1, 7]
    ids, *_ = run(program, tmp_path, (X, Y, Q), (6, 2, 1, 1, 32, 8), removed=removed)
    X[removed] = 0
    for row, query in enumerate(Q):
        near = [(i, sim) for sim, i in oracle.neighbours(X, query, 6, 1)]
        assert ids[row].tolist() == padded(near, 6)[0]


@pytest.mark.parametrize("program", ["thread"], indirect=True)
@pytest.mark.parametrize("barrier", barriers()[::8])
def test_a_missing_barrier_is_noticed(program, tmp_path, barrier):
    """`make cuda-races` leaves out each of them."""
    assert found_without(barrier, program, tmp_path)
