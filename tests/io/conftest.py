import pytest

ENGINES = ["python", "fast"]


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def make(tmp_path):
    """Write bytes to a file and give its path."""

    def make(data, name="rows.txt"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return make
