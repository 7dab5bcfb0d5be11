"""Collect only the pages: their examples run as tests. The site's own code needs Sphinx."""

from doc_fences import lacks, pages

collect_ignore = ["_build", "_ext", "generated", "plots", "conf.py"]
collect_ignore += [str(page) for page in pages() if lacks(page)]
