"""The model in use, the threads that answer, and replacing the model while they run."""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from swnn_xp.checks import check_count
from swnn_xp.loading import kind_of
from swnn_xp.serve.limits import Limits
from swnn_xp.serve.metrics import Metrics
from swnn_xp.serve.middleware import token_of
from swnn_xp.serve.pool import Pool
from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.served_model import ServedModel
from swnn_xp.serve.suggest import parse_form
from swnn_xp.serve.wire import About, Project

SHORT_BYTES = 1 << 16
"""Of a body that is parsed in the event loop, at most."""
_log = logging.getLogger("swnn_xp.serve")


class Service:
    """What the routes need: a model, threads, limits and counts.

    Parameters
    ----------
    path : path of the model
    threads : int
        Requests answered in parallel.
    limits : Limits
    token : str, optional
        Allows reloading the model over HTTP; without a token, nobody can.
    **params
        Parameters that override the model's, such as ``n_neighbors``.

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
        self._reloading = threading.Lock()  # one reload at a time; requests do not wait for it
        self.current = self._load(1, threads)
        self._threads = threads
        self.pool = Pool(threads, self.limits.queue, self.limits.seconds)
        self.metrics = Metrics()

    async def answer(self, body: bytes) -> bytes:
        """Answer the body of a request with the model in use now."""
        model, deadline = self.current, time.monotonic() + self.limits.seconds
        if len(body) > SHORT_BYTES:
            request = await self.pool.run(partial(model.parse, body), short=False)
        else:
            request = model.parse(body)
        self.metrics.rows += len(request.rows)
        is_short = len(body) <= SHORT_BYTES and len(request.rows) == 1
        short = is_short and not request.explain
        return await self.pool.run(partial(model.answer, request, deadline), short=short)

    def answer_at_once(self, body: bytes) -> tuple[int, bytes] | None:
        """Answer or refuse a request of one row: status and body; None for anything else."""
        if len(body) > min(SHORT_BYTES, self.limits.bytes) or self.pool.is_full:
            return None
        model, deadline = self.current, time.monotonic() + self.limits.seconds
        request = None
        try:
            request = model.parse(body)
            if len(request.rows) != 1 or request.explain:
                return None
            status, found = 200, model.answer(request, deadline)
        except HTTPRefusal as refusal:
            status, found = refusal.status, refusal.body
        except Exception:  # a defect: it comes again on the ordinary way, which logs it
            return None
        self.metrics.rows += request is not None
        return status, found

    async def suggest(self, body: bytes) -> bytes:
        """Answer a form in the protocol of Annif with the model in use now."""
        model, deadline = self.current, time.monotonic() + self.limits.seconds
        request = parse_form(body, self.limits)
        self.metrics.rows += 1
        short = len(body) <= SHORT_BYTES
        return await self.pool.run(partial(model.suggest, request, deadline), short=short)

    def reload(self) -> ServedModel:
        """Open the model again; if that fails, the one in use stays.

        Running requests keep the model that they began with.
        """
        with self._reloading:
            try:
                model = self._load(self.current.number + 1, self._threads)
            except Exception:
                self.metrics.failed_reloads += 1
                raise
            self.current = model
            self.metrics.reloads += 1
        _log.warning("model %d is in use: %s", model.number, self._path)
        return model

    def reload_quietly(self) -> None:
        """Reload on a signal: errors are only logged."""
        try:
            self.reload()
        except (OSError, ValueError) as error:
            _log.error("the model in use is kept: %s", error)

    @property
    def reload_token(self) -> bytes | None:
        """Token that allows reloading over HTTP."""
        return self._token

    def may_reload(self, authorization: str | None) -> bool | None:
        """Whether the header carries the token; None if no token is configured."""
        if self._token is None:
            return None
        given = (authorization or "").encode("latin-1")  # the bytes as they came
        return hmac.compare_digest(token_of(given), self._token)

    def about(self) -> About:
        """Describe the model in use."""
        model = self.current
        clf = model.clf
        return About(
            model=model.number,
            rows=clf.n_samples_fit_,
            features=clf.n_features_in_,
            labels=clf.n_labels_,
            kind=kind_of(clf),
            **clf.current_model().ranking.settings._asdict(),
            feature_names=model.features.ids is not None,
            label_names=model.label_names is not None,
            text=model.features.vectorizer is not None,
            limits=asdict(self.limits),
        )

    def project(self) -> Project:
        """Describe the model in use as Annif describes a project."""
        modified = datetime.fromtimestamp(self.current.modified, UTC).isoformat()
        return Project("swnn", self._path.name, True, modified)

    def _load(self, number: int, threads: int) -> ServedModel:
        return ServedModel(self._path, number, threads, self.limits, self._params)
