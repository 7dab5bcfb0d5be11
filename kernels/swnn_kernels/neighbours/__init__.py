"""The nearest rows of one query: by all postings, or by bounds and few rescorings."""
