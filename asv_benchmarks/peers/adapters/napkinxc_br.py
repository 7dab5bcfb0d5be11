"""napkinXC: binary relevance, one logistic regression a label."""

from __future__ import annotations

import tempfile
import time

import numpy as np

from .base import refuse_beyond_limit
from .napkinxc_plt import Peer as Base
from .napkinxc_plt import label_lists

MANY, SAMPLE = 2_000, 100  # labels


class Peer(Base):
    title = "napkinXC BR"
    kind_of_model = "BR"

    def prepare(self, X, Y):
        super().prepare(X, Y)
        if Y.shape[1] > MANY:
            self.time_a_sample(Y)

    def time_a_sample(self, Y):
        """Train some labels on all rows, and refuse the others if they would take too long."""
        from napkinxc import models

        some = np.random.default_rng(0).choice(Y.shape[1], SAMPLE, replace=False)
        labels = label_lists(Y[:, np.sort(some)].tocsr())
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            models.BR(folder, threads=1, verbose=False).fit(self.X, labels)
            seconds = time.process_time() - start
        refuse_beyond_limit(seconds, SAMPLE, Y.shape[1])
