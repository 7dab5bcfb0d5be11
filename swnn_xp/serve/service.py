"""The service without HTTP: the model in use, the threads that answer, and replacing the model.

A model is opened once, never changed, and dropped after its last request; requests that run while
it is replaced keep the model that they began with.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from swnn_xp.bulk.records import KnownFeatures, ParsedRow
from swnn_xp.checks import check_count
from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.loading import kind_of, load
from swnn_xp.model.explain import Explanation
from swnn_xp.model.session import Session
from swnn_xp.rows.canonical import to_csr
from swnn_xp.serve.metrics import Metrics
from swnn_xp.serve.wire import (
    About,
    HTTPRefusal,
    Limits,
    PredictRequest,
    PredictResponse,
    Project,
    RowPrediction,
    decode_request,
    encode,
    parse_form,
    suggestions,
    to_query,
)
from swnn_xp.store import StoreError

_Result = TypeVar("_Result")


class _Job(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    life: int
    """How often the pool had been closed when the job began."""


class Pool:
    """Runs jobs for the event loop, ``threads`` in parallel; refuses them when too many wait.

    With one thread, short jobs run in the event loop itself: that saves a change of threads, and
    there is no second thread to keep busy. All counting happens in the event loop.

    The threads start with the first job that needs one, and again after `close`: an application
    may be stopped and restarted.
    """

    def __init__(self, threads: int, queue: int, seconds: float) -> None:
        self.room = threads + queue
        self.under_way = self._life = 0
        self._seconds = seconds
        self._size, self._inline = threads, threads == 1
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    @property
    def is_full(self) -> bool:
        """Whether the next job would be refused."""
        return self.under_way >= self.room

    async def run(self, work: Callable[[], _Result], *, short: bool) -> _Result:
        """Run a job: 503 when too many wait, 504 when it takes too long."""
        if self.is_full:
            raise HTTPRefusal(503, "too many requests are waiting", {"Retry-After": "1"})
        if short and self._inline:
            return work()
        self.under_way += 1
        self._start()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        timer = loop.call_later(self._seconds, self._expire, future)
        self._jobs.put(_Job(work, loop, future, self._life))
        try:
            return await future
        finally:
            timer.cancel()
            del future, work  # an error would hold them, and they the error: a cycle with a model

    def _start(self) -> None:
        while len(self._threads) < self._size:
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def _expire(self, future: asyncio.Future[Any]) -> None:
        _settle(future, None, HTTPRefusal(504, f"no answer within {self._seconds:g} seconds"))

    def _work(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        """Do a job and keep nothing of it, for it holds a model; False where there is none."""
        job = self._jobs.get()
        if job is None:
            return False
        result, error = None, None
        if not job.future.done():  # it may have timed out while waiting
            try:
                result = job.work()
            except Exception as failure:
                error = failure
        with contextlib.suppress(RuntimeError):  # the event loop may be closed
            job.loop.call_soon_threadsafe(self._ended, job, result, error)
        del job, error
        return True

    def _ended(self, job: _Job, result: Any, error: Exception | None) -> None:
        self._leave(job.life)
        _settle(job.future, result, error)

    def _leave(self, life: int) -> None:
        if life == self._life:  # `close` has forgotten the jobs before
            self.under_way -= 1

    def close(self) -> None:
        """Finish what is running and end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
        # The event loop of the last jobs may be closed: no one else would count them out.
        self.under_way = 0
        self._life += 1


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


_SHOWN_FEATURES = 10  # shared with a neighbour, or weighed by a model: the most important ones
_CHECK_SECONDS = 0.1  # between two looks at the model's files
_log = logging.getLogger("swnn_xp.serve")


class ServedModel:
    """A model with a session for each thread.

    Parameters
    ----------
    path : path of the model
    number : int
        1 for the first model of a service.
    threads : int
    limits : Limits
    params : dict
        Parameters that override the saved ones.
    postings : int or None
        Cap of the search, as for ``session``.
    """

    def __init__(
        self,
        path: Path,
        number: int,
        threads: int,
        limits: Limits,
        params: dict[str, Any],
        postings: int | None,
    ) -> None:
        self.clf = load(path, backend="numba", **params)
        self.number = number
        self._path = path
        self._limits = limits
        self.label_names = self.clf.label_names_
        self.label_uris = self.clf.label_uris_ or self.label_names
        self.features = KnownFeatures.of(self.clf)
        self._checked = -math.inf
        self.modified = path.joinpath("manifest.json").stat().st_mtime
        # Never empty when asked: there is one for each thread, and one for the event loop. The last
        # one used comes first: its buffers may still be in the processor's caches.
        self._sessions: list[Session] = []
        for _ in range(threads + 1):
            session = self.clf.session(postings=postings)
            # Compiles or loads the kernel, makes buffers.
            session.topk_probabilities_one([], [], limits.k)
            self._sessions.append(session)

    def answer(self, request: PredictRequest, deadline: float) -> bytes:
        """Answer a request: the body of the response."""
        return encode(PredictResponse(self.number, self.predict(request, deadline)))

    def suggest(self, request: PredictRequest, deadline: float) -> bytes:
        """Answer a request of one row in the protocol of Annif."""
        (prediction,) = self.predict(request, deadline)
        return encode(suggestions(prediction, self.label_uris, self.label_names))

    def predict(self, request: PredictRequest, deadline: float) -> list[RowPrediction]:
        """Predict the rows of a request.

        The request is refused if a row has not been started by the deadline (`time.monotonic`).
        """
        self._check_files()
        session = self._sessions.pop()
        try:
            return [
                self._row(session, request, number, deadline) for number in range(len(request.rows))
            ]
        finally:
            self._sessions.append(session)

    def _check_files(self) -> None:
        """Refuse to read files that were changed in place: that could end the process."""
        mapped, now = self.clf.model_.mapped, time.monotonic()
        if mapped is None or now - self._checked < _CHECK_SECONDS:
            return
        try:
            mapped.check()
        except StoreError as error:
            _log.error("model %d can't be used: %s", self.number, error)
            raise HTTPRefusal(500, "the model's files have changed: reload it") from None
        self._checked = now

    def parse(self, body: bytes) -> PredictRequest:
        """Parse the body of a request, or refuse it."""
        limits = self._limits
        try:
            request = decode_request(body)
        except msgspec.ValidationError as error:
            raise HTTPRefusal(422, str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HTTPRefusal(400, f"the body is not JSON: {error}") from None
        n_rows, k = len(request.rows), request.k
        if n_rows > limits.rows:
            raise HTTPRefusal(422, f"there are {n_rows} rows, at most {limits.rows} are allowed")
        if k > limits.k:
            raise HTTPRefusal(422, f"k is {k}, at most {limits.k} is allowed")
        if request.explain and n_rows * k > limits.explained:
            what = f"{n_rows} rows with k = {k} are {n_rows * k} labels to explain"
            raise HTTPRefusal(422, f"{what}, at most {limits.explained} are allowed")
        return request

    def _row(
        self, session: Session, request: PredictRequest, number: int, deadline: float
    ) -> RowPrediction:
        if time.monotonic() > deadline:
            raise HTTPRefusal(504, "the answer takes too long")
        row = request.rows[number]
        query = to_query(row, number, self.features, self._limits.features)
        try:
            return self._predict(session, request, query)
        except ValueError as error:
            # The row is valid, so the model is not: parts of it are checked only when used.
            message = "model %d can't answer a row: %s; `swnn verify %s` names the file"
            _log.error(message, self.number, error, self._path)
            raise HTTPRefusal(500, f"row {number}: the model is damaged") from None

    def _predict(
        self, session: Session, request: PredictRequest, query: ParsedRow
    ) -> RowPrediction:
        best = session.topk_probabilities_one(query.indices, query.values, request.k)
        labels, scores, probabilities = (part.tolist() for part in best)
        if labels[-1] < 0:  # empty slots come last
            n = labels.index(-1)
            labels, scores, probabilities = labels[:n], scores[:n], probabilities[:n]
        prediction = RowPrediction(labels, scores, probabilities)
        if self.label_names is not None:
            prediction.names = [self.label_names[label] for label in prediction.labels]
        if query.unknown is not None:
            prediction.unknown = query.unknown
        if request.explain:
            prediction.explain = [self._explained(query, label) for label in prediction.labels]
        return prediction

    def _explained(self, query: ParsedRow, label: int) -> Explanation | RankedExplanation:
        shape = (1, self.clf.n_features_in_)
        x = to_csr(np.array([0, query.indices.size]), query.indices, query.values, shape)
        explanation = self.clf.explain(x, label)
        voters = tuple(
            replace(voter, features=voter.features[:_SHOWN_FEATURES])
            for voter in explanation.voters
        )
        if isinstance(explanation, RankedExplanation):
            features = explanation.features[:_SHOWN_FEATURES]
            return replace(explanation, voters=voters, features=features)
        return replace(explanation, voters=voters)


_SHORT_BYTES = 1 << 16  # of a body that is parsed in the event loop, at most


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
    postings : int, optional
        Cap of the search, as for ``session``.
    example : str, optional
        A text that the page starts with, answered.
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
        postings: int | None = None,
        example: str = "",
        **params: Any,
    ) -> None:
        check_count(threads, "threads")
        if token == "":
            raise ValueError("the reload token is empty")
        self.limits = limits or Limits()
        self._path, self._params, self._example = Path(path), params, example
        self._token = None if token is None else token.encode()
        self._postings = postings
        self._reloading = threading.Lock()  # one reload at a time; requests do not wait for it
        self.current = self._load(1, threads)
        self._threads = threads
        self.pool = Pool(threads, self.limits.queue, self.limits.seconds)
        self.metrics = Metrics()

    async def answer(self, body: bytes) -> bytes:
        """Answer the body of a request with the model in use now."""
        model, deadline = self.current, time.monotonic() + self.limits.seconds
        if len(body) > _SHORT_BYTES:
            request = await self.pool.run(partial(model.parse, body), short=False)
        else:
            request = model.parse(body)
        self.metrics.rows += len(request.rows)
        is_short = len(body) <= _SHORT_BYTES and len(request.rows) == 1
        short = is_short and not request.explain
        return await self.pool.run(partial(model.answer, request, deadline), short=short)

    async def suggest(self, body: bytes) -> bytes:
        """Answer a form in the protocol of Annif with the model in use now."""
        model, deadline = self.current, time.monotonic() + self.limits.seconds
        request = parse_form(body, self.limits)
        self.metrics.rows += 1
        short = len(body) <= _SHORT_BYTES
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
            example=self._example,
        )

    def project(self) -> Project:
        """Describe the model in use as Annif describes a project."""
        modified = datetime.fromtimestamp(self.current.modified, UTC).isoformat()
        return Project("swnn", self._path.name, True, modified)

    def _load(self, number: int, threads: int) -> ServedModel:
        return ServedModel(self._path, number, threads, self.limits, self._params, self._postings)
