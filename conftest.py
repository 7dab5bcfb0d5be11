"""What pytest leaves out where an extra is not installed, said in one line each."""

from importlib.util import find_spec

_EXTRAS = {
    "dask": (("distributed",), "distributed"),
    "serve": (("fastapi", "uvicorn", "msgspec"), "serve"),
}
_ABSENT = {
    extra: folder
    for extra, (modules, folder) in _EXTRAS.items()
    if any(find_spec(module) is None for module in modules)
}
collect_ignore = [
    f"{root}/{folder}" for folder in _ABSENT.values() for root in ("swnn_xp", "tests")
]


def pytest_report_header():
    """Name the extras that are missing."""
    return [
        f"left out: swnn_xp/{folder} and tests/{folder}, for lack of the extra {extra!r} "
        f"(make test-extras has it)"
        for extra, folder in _ABSENT.items()
    ]
