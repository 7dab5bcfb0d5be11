"""What a disk can hold after a loss of power, given the calls that changed its files.

POSIX promises little. Until `fsync` of a file has returned, each of its writes may be on the disk,
or half of it, or blocks of zeros in its place, or nothing; until `fsync` of a folder has returned,
each new, renamed or removed entry may be there or not; in any combination. A rename is one step.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

MARKER = ".reported"  # files of this name are not on the disk: what is written there was reported
FOLDER = None
VARIANTS = ("lost", "whole", "half", "zeros")


class Call(NamedTuple):
    """One line of the log."""

    name: str
    path: str
    rest: tuple[str, ...]
    data: bytes = b""


class Step(NamedTuple):
    """One change that reaches the disk on its own."""

    inodes: frozenset[int]
    """What an `fsync` of makes it permanent."""
    entries: dict[tuple[int, str], int | None] = {}
    write: tuple[int, int, bytes] | None = None
    size: tuple[int, int] | None = None
    """Inode and new size of a truncation."""

    @property
    def changes(self) -> tuple[int, ...]:
        """The file whose content changes, if any does."""
        changed = self.write or self.size
        return () if changed is None else (changed[0],)


def read_log(path: Path) -> list[Call]:
    """Calls recorded by `record_writes.c`."""
    text, at, calls = path.read_bytes(), 0, []
    while at < len(text):
        end = text.index(b"\n", at)
        name, file, *rest = text[at:end].decode().split(" ")
        at = end + 1
        size = int(rest[1]) if name == "write" else 0
        calls.append(Call(name, file, tuple(rest), text[at : at + size]))
        at += size
    return calls


class Disk:
    """Files by inode; folders map names to inodes. What is there at first is permanent."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.files: dict[int, bytes] = {}
        self.entries: dict[tuple[int, str], int] = {}
        self.folders = {0}
        self._count = itertools.count(1)
        self._take(self.root, 0)

    def _take(self, folder: Path, inode: int) -> None:
        for path in sorted(folder.iterdir()):
            child = self.entries[inode, path.name] = next(self._count)
            if path.is_dir():
                self.folders.add(child)
                self._take(path, child)
            else:
                self.files[child] = path.read_bytes()

    def steps(self, calls: list[Call]) -> Iterator[Step | int | str]:
        """Turn calls to steps; an int is an inode that was synced, a str what was reported."""
        live = dict(self.entries)
        for call in calls:
            if call.path.endswith(MARKER):
                if call.name == "write":
                    yield call.data.decode()
                continue
            folder, name = self._split(live, call.path)
            if call.name in ("create", "mkdir"):
                inode = next(self._count)
                if call.name == "mkdir":
                    self.folders.add(inode)
                else:
                    self.files[inode] = b""
                step = Step(frozenset({folder}), {(folder, name): inode})
            elif call.name == "rename":
                target = self._split(live, call.rest[0])
                moved = {(folder, name): None, target: live[folder, name]}
                step = Step(frozenset({target[0]}), moved)
            elif call.name == "remove":
                step = Step(frozenset({folder}), {(folder, name): None})
            elif call.name == "fsync":
                yield 0 if call.path == str(self.root) else live[folder, name]
                continue
            else:
                inode = live[folder, name]
                where = int(call.rest[0])
                step = (
                    Step(frozenset({inode}), write=(inode, where, call.data))
                    if call.name == "write"
                    else Step(frozenset({inode}), size=(inode, where))
                )
            for key, value in step.entries.items():
                live.pop(key, None)
                if value is not None:
                    live[key] = value
            yield step

    def _split(self, live: dict[tuple[int, str], int], path: str) -> tuple[int, str]:
        parts = Path(path).relative_to(self.root).parts
        folder = 0
        for part in parts[:-1]:
            folder = live[folder, part]
        return folder, parts[-1] if parts else ""

    def after(self, steps: list[tuple[Step, str]]) -> dict[str, bytes | None]:
        """Files by path (None: a folder) once these steps, in these variants, have been done."""
        entries = dict(self.entries)
        for step, _ in steps:
            for key, value in step.entries.items():
                entries.pop(key, None)
                if value is not None:
                    entries[key] = value
        files = {inode: self.content(steps, inode) for step, _ in steps for inode in step.changes}
        children: dict[int, list[tuple[str, int]]] = {}
        for (folder, name), inode in entries.items():
            children.setdefault(folder, []).append((name, inode))
        found: dict[str, bytes | None] = {}
        pending = [("", 0)]
        while pending:
            path, folder = pending.pop()
            for name, inode in sorted(children.get(folder, [])):
                if inode in self.folders:
                    found[path + name] = FOLDER
                    pending.append((f"{path}{name}/", inode))
                else:
                    found[path + name] = files.get(inode, self.files[inode])
        return found

    def content(self, steps: list[tuple[Step, str]], inode: int) -> bytes:
        """A file once these steps, in these variants, have been done."""
        found = self.files[inode]
        for step, variant in steps:
            if inode in step.changes:
                found = _changed(found, step, variant)
        return found


def _changed(content: bytes, step: Step, variant: str) -> bytes:
    if step.size:
        return content[: step.size[1]].ljust(step.size[1], b"\0")
    _, at, data = step.write
    if variant == "half":
        data = data[: len(data) // 2]
    elif variant == "zeros":
        data = bytes(len(data))
    return content[:at].ljust(at, b"\0") + data + content[at + len(data) :]


class State(NamedTuple):
    """What the disk may hold, and what had been reported by then."""

    files: dict[str, bytes | None]
    reported: list[str]
    step: int


SAMPLE = 100
"""Random combinations of a moment that has too many; a tenth where all that is visible is tried."""

Visible = Callable[[Disk, list[Step], list[Step]], list[bool]]
"""Of a disk, permanent steps and pending ones: whether a reader may notice each of the latter."""


def disk_states(
    disk: Disk,
    calls: list[Call],
    most: int,
    seed: int = 0,
    complete: list[bool] | None = None,
    visible: Visible | None = None,
) -> Iterator[State]:
    """States the disk can be left in, each once: all combinations of a moment, if at most `most`.

    Where a moment has more combinations, it is: nothing lost, all lost, each step lost alone, each
    step kept alone, and random ones; and all combinations of the steps that are visible, if these
    are at most `most`, with the others lost and kept. `complete` gets whether each moment had all
    combinations, or all that are visible.
    """
    rng, seen = random.Random(seed), set()
    permanent: list[tuple[int, Step]] = []
    pending: list[tuple[int, Step]] = []
    reported: list[str] = []
    events = list(disk.steps(calls))
    for number, event in enumerate([*events, None]):
        if isinstance(event, int):  # until it returns, what it syncs may be lost: see below
            synced = [each for each in pending if event in each[1].inodes]
        steps = [step for _, step in pending]
        noticed = [True] * len(steps)
        if visible is not None and _combinations(steps) > most:
            noticed = visible(disk, [step for _, step in sorted(permanent, key=_number)], steps)
        few = _combinations([step for step, is_seen in zip(steps, noticed, strict=True) if is_seen])
        if complete is not None:
            complete.append(few <= most)
        choices = _choices(steps, most, rng, SAMPLE if few > most else SAMPLE // 10)
        if few <= most < _combinations(steps):
            choices = itertools.chain(_visible_choices(steps, noticed), choices)
        for choice in choices:
            kept = [
                (*each, how) for each, how in zip(pending, choice, strict=True) if how != "lost"
            ]
            done = sorted([*((*each, "whole") for each in permanent), *kept], key=_number)
            files = disk.after([(step, how) for _, step, how in done])
            key = hash((tuple(sorted(files.items(), key=lambda e: e[0])), tuple(reported)))
            if key not in seen:
                seen.add(key)
                yield State(files, list(reported), number)
        if isinstance(event, Step):
            pending.append((number, event))
        elif isinstance(event, int):
            permanent += synced
            pending = [each for each in pending if each not in synced]
        elif isinstance(event, str):
            reported.append(event)


def _number(numbered: tuple[Any, ...]) -> int:
    return numbered[0]


def _visible_choices(steps: list[Step], noticed: list[bool]) -> Iterator[tuple[str, ...]]:
    """All combinations of the steps that are noticed, with all others lost, then kept."""
    for others in ("lost", "whole"):
        yield from itertools.product(
            *(
                _ways(step) if is_seen else (others,)
                for step, is_seen in zip(steps, noticed, strict=True)
            )
        )


def _ways(step: Step) -> tuple[str, ...]:
    return VARIANTS if step.write else VARIANTS[:2]


def _combinations(steps: list[Step]) -> int:
    return math.prod(len(_ways(step)) for step in steps)


def _choices(
    steps: list[Step], most: int, rng: random.Random, sample: int
) -> Iterator[tuple[str, ...]]:
    ways = [_ways(step) for step in steps]
    if _combinations(steps) <= most:
        yield from itertools.product(*ways)
        return
    for base, other in (("whole", "lost"), ("lost", "whole")):
        yield (base,) * len(ways)
        for i in range(len(ways)):
            yield (*(base,) * i, other, *(base,) * (len(ways) - i - 1))
    for _ in range(min(most, sample)):
        yield tuple(rng.choice(way) for way in ways)


def write_state(files: dict[str, bytes | None], folder: Path) -> None:
    """Put a state into an empty folder."""
    for name, content in sorted(files.items()):
        path = folder / name
        if content is FOLDER:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
