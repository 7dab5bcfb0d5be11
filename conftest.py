"""Settings of all tests, and what is left out where an extra is not installed, in one line each."""

from importlib.util import find_spec

from hypothesis import settings

# Speed is no test: the first call compiles, and machines may be busy.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

# Extra: the modules it brings, what needs them, and the target that runs these.
_EXTRAS = {
    "cupy": (
        ("cupy",),
        ("swnn_xp/backends/cupy_.py", "swnn_xp/backends/cupy_kernels.py"),
        "test-backends",
    ),
    "torch": (("torch",), ("swnn_xp/backends/torch_.py",), "test-backends"),
    "dask": (("dask",), ("swnn_xp/distributed", "tests/distributed"), "test-extras"),
    "serve": (
        ("starlette", "uvicorn", "msgspec"),
        ("swnn_xp/serve", "tests/serve"),
        "test-extras",
    ),
}
_ABSENT = {
    extra: (paths, target)
    for extra, (modules, paths, target) in _EXTRAS.items()
    if any(find_spec(module) is None for module in modules)
}
collect_ignore = [path for paths, _ in _ABSENT.values() for path in paths]


def pytest_report_header():
    return [
        f"left out: {', '.join(paths)}, for lack of the extra {extra!r} (make {target} has it)"
        for extra, (paths, target) in _ABSENT.items()
    ]
