"""Which of the steps that a loss of power may undo a reader of the disk can notice.

A model is read from its manifest and from the folder that the manifest names; nothing else is ever
opened. So a step that changes neither, whatever manifest is there, changes no answer: disks that
differ only in such steps are one and the same to the reader. Saving a ranker has up to 524,288
combinations at a moment, nearly all of them of files that no manifest names yet, or any more.
"""

from __future__ import annotations

import json

from disk_states import Disk, Step

MODEL, MANIFEST = "model", "model/manifest.json"


def visible(disk: Disk, permanent: list[Step], pending: list[Step]) -> list[bool]:
    """For each pending step, whether a reader of the model may notice it."""
    paths = _paths(disk, [*permanent, *pending])
    texts = [
        _content(disk, steps, inode)
        for inode in _manifests(disk, paths, permanent, pending)
        for steps in (permanent, [*permanent, *pending])
    ]
    folders = tuple(f"{MODEL}/{name}/" for name in map(_named, texts) if name)
    return [
        any(path in (MODEL, MANIFEST) or f"{path}/".startswith(folders) for path in touched)
        for touched in (_touched(step, paths) for step in pending)
    ]


def _paths(disk: Disk, steps: list[Step]) -> dict[int, set[str]]:
    """Every path that an inode has or may have; no folder is ever renamed."""
    entries = list(disk.entries.items())
    entries += [(key, inode) for step in steps for key, inode in step.entries.items() if inode]
    found: dict[int, set[str]] = {0: {""}}
    for (folder, name), inode in sorted(entries, key=lambda entry: entry[0][0]):
        (parent,) = found[folder]
        found.setdefault(inode, set()).add(f"{parent}/{name}".lstrip("/"))
    return found


def _touched(step: Step, paths: dict[int, set[str]]) -> set[str]:
    """Paths whose entry or content a step changes."""
    changed = step.write or step.size
    touched = set(paths[changed[0]]) if changed else set()
    for folder, name in step.entries:
        (parent,) = paths[folder]
        touched.add(f"{parent}/{name}".lstrip("/"))
    return touched


def _manifests(
    disk: Disk, paths: dict[int, set[str]], permanent: list[Step], pending: list[Step]
) -> set[int]:
    """Files that may be the manifest: the one that is, and those that it may be replaced by."""
    folders = [inode for inode, known in paths.items() if MODEL in known]
    found: set[int] = set()
    for folder in folders:
        key = folder, MANIFEST.removeprefix(f"{MODEL}/")
        last = [disk.entries.get(key)]
        last += [step.entries[key] for step in permanent if key in step.entries]
        found |= {inode for inode in last[-1:] if inode}
        found |= {inode for step in pending if (inode := step.entries.get(key))}
    return found


def _content(disk: Disk, steps: list[Step], inode: int) -> bytes:
    """Content of a file once these steps are done."""
    return disk.content([(step, "whole") for step in steps], inode)


def _named(text: bytes) -> str | None:
    """Folder that a manifest names; None where it can't be read."""
    try:
        return str(json.loads(text)["data"])
    except (ValueError, KeyError, TypeError):
        return None
