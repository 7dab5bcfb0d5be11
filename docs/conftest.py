"""Only the pages are tested here: their examples run. What makes the site needs Sphinx."""

from importlib.util import find_spec

_NEEDS = {"cluster.md": "dask", "serving.md": "fastapi"}
collect_ignore = ["_build", "_ext", "generated", "plots", "conf.py"]
collect_ignore += [page for page, module in _NEEDS.items() if find_spec(module) is None]
