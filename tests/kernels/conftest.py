"""Plain numba's kernels are cached apart: in the usual place they would replace the others."""

import pytest


@pytest.fixture(scope="session")
def plain_numba(tmp_path_factory):
    """Environment variables of a process that uses plain numba."""
    folder = tmp_path_factory.mktemp("plain-kernels")
    return {"SWNN_PLAIN_NUMBA": "1", "NUMBA_CACHE_DIR": str(folder)}
