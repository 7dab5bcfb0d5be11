"""Reading the repository's text format: 2,000 rows of 60 features."""

from __future__ import annotations

from swnn_xp.io import iter_xmc, read_xmc

from .common import Suite


class Reading(Suite):
    def setup(self):
        read_xmc("rows.txt")  # compiles, or loads what was compiled

    def time_read(self):
        read_xmc("rows.txt")

    def time_iterate(self):
        for _ in iter_xmc("rows.txt", rows=500):
            pass

    def peakmem_read(self):
        read_xmc("rows.txt")
