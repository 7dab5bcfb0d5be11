"""Only the pages are tested here: their examples run. What makes the site needs Sphinx."""

from doc_fences import lacks, pages

collect_ignore = ["_build", "_ext", "generated", "plots", "conf.py"]
collect_ignore += [str(page) for page in pages() if lacks(page)]
