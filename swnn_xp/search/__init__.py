"""Similarities, the best rows of each query, and merging lists of neighbours: array API only."""
