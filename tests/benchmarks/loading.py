"""The asv suites as a package of another name: tests/benchmarks is called `benchmarks` itself."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

ASV = Path(__file__).resolve().parents[2] / "asv_benchmarks"
PACKAGE = "asv_suites"
HELPERS = ("__init__", "common", "data", "reference")
SUITES = sorted(path.stem for path in (ASV / "benchmarks").glob("*.py") if path.stem not in HELPERS)


def load(name):
    """Import a module of asv_benchmarks/benchmarks. It pins threads: that is undone again."""
    if PACKAGE not in sys.modules:
        folder = ASV / "benchmarks"
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        before = dict(os.environ)
        try:
            spec.loader.exec_module(package)
        finally:
            os.environ.clear()
            os.environ.update(before)
    return importlib.import_module(f"{PACKAGE}.{name}")
