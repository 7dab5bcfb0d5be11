"""This library as a classifier: S = 75, alpha = 2, beta = 1."""

from __future__ import annotations

from .swnn_classifier import Peer as Base


class Peer(Base):
    title = "swnn_xp, S=75"
    n_neighbors, alpha, beta = 75, 2.0, 1.0
    note = "alpha=2, beta=1; no training"
