"""The model in use, the threads that answer, and swapping the one under the other."""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from swnn_xp._checks import check_count
from swnn_xp.serve.limits import Limits
from swnn_xp.serve.loaded import Loaded
from swnn_xp.serve.metrics import Metrics
from swnn_xp.serve.pool import Pool
from swnn_xp.serve.wire import About

_SHORT_BYTES = 1 << 16  # of a body that is read in the event loop
_log = logging.getLogger("swnn_xp.serve")


class Service:
    """All that the routes need.

    Parameters
    ----------
    path : path of the model
    threads : int
        Requests answered at a time.
    limits : Limits
    token : str, optional
        Who knows it may reload the model over HTTP; without one, nobody may.
    **params
        Parameters that replace the model's, such as ``n_neighbors``.

    Examples
    --------
    >>> import tempfile
    >>> from swnn_xp import SWNNClassifier
    >>> from swnn_xp.serve import Service
    >>> folder = tempfile.mkdtemp()
    >>> SWNNClassifier().fit([[1, 1, 0], [0, 1, 1]], [[1, 0], [0, 1]]).save(folder)
    >>> service = Service(folder, n_neighbors=5)
    >>> service.about().rows, service.about().n_neighbors
    (2, 5)
    >>> service.reload().number
    2
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threads: int = 1,
        limits: Limits | None = None,
        token: str | None = None,
        **params: Any,
    ) -> None:
        check_count(threads, "threads")
        if token == "":
            raise ValueError("the reload token is empty")
        self.limits = limits or Limits()
        self._path, self._params = Path(path), params
        self._token = None if token is None else token.encode()
        self._reloading = threading.Lock()  # of reloads among each other; no request waits for it
        self.current = self._load(1, threads)
        self._threads = threads
        self.pool = Pool(threads, self.limits.queue, self.limits.seconds)
        self.metrics = Metrics()

    async def answer(self, body: bytes) -> bytes:
        """Answer a request's body by the model that is in use now."""
        loaded, deadline = self.current, time.monotonic() + self.limits.seconds
        if len(body) > _SHORT_BYTES:
            question = await self.pool.run(partial(loaded.question, body), short=False)
        else:
            question = loaded.question(body)
        self.metrics.rows += len(question.rows)
        short = len(question.rows) == 1 and not question.explain
        return await self.pool.run(partial(loaded.answer, question, deadline), short=short)

    def reload(self) -> Loaded:
        """Open the model anew; the one in use stays if that fails.

        Requests that run keep the model that they began with.
        """
        with self._reloading:
            try:
                loaded = self._load(self.current.number + 1, self._threads)
            except Exception:
                self.metrics.failed_reloads += 1
                raise
            self.current = loaded
            self.metrics.reloads += 1
        _log.warning("model %d is in use: %s", loaded.number, self._path)
        return loaded

    def reload_quietly(self) -> None:
        """Reload for a signal: what goes wrong is only logged."""
        try:
            self.reload()
        except (OSError, ValueError) as error:
            _log.error("the model in use is kept: %s", error)

    def may_reload(self, authorization: str | None) -> bool | None:
        """Tell whether the header carries the token; None if there is no token at all."""
        if self._token is None:
            return None
        given = (authorization or "").encode("latin-1")  # the bytes as they came
        return hmac.compare_digest(given, b"Bearer " + self._token)

    def about(self) -> About:
        """Describe the model in use."""
        loaded = self.current
        clf = loaded.clf
        return About(
            model=loaded.number,
            rows=clf.n_samples_fit_,
            features=clf.n_features_in_,
            labels=clf.n_labels_,
            n_neighbors=int(clf.n_neighbors),
            alpha=float(clf.alpha),
            beta=float(clf.beta),
            feature_names=loaded.known is not None,
            label_names=loaded.label_names is not None,
            limits=asdict(self.limits),
        )

    def _load(self, number: int, threads: int) -> Loaded:
        return Loaded(self._path, number, threads, self.limits, self._params)
