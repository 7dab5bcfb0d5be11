"""Only the pages are tested here: their examples run. What makes the site needs Sphinx."""

collect_ignore = ["_build", "_ext", "generated", "plots", "conf.py"]
