"""Lists of names as text, a name a line, decoded when they are first asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {written: char for char, written in _ESCAPES.items()}
_SPECIAL = re.compile(r"[\\\n\r]")
_WRITTEN = re.compile(r"\\.?")


def encode_names(names: Sequence[str]) -> bytes:
    r"""Write any names as UTF-8, a name a line; line breaks and backslashes are escaped.

    Examples
    --------
    >>> encode_names(["tool", "two\nlines"])
    b'tool\ntwo\\nlines\n'
    """
    lines = []
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"name {i} is not a text: {name!r}")
        lines.append(_SPECIAL.sub(lambda match: _ESCAPES[match[0]], name) + "\n")
    try:
        return "".join(lines).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"a name is not valid Unicode: {error}") from None


def decode_names(text: bytes, count: int) -> list[str]:
    r"""Read back what `encode_names` wrote; a ValueError says what is wrong.

    Examples
    --------
    >>> decode_names(b"tool\ntwo\\nlines\n", 2)
    ['tool', 'two\nlines']
    """
    names = text.decode("utf-8").split("\n")
    if names.pop() != "" or len(names) != count:
        raise ValueError(f"does not hold {count} names")
    if b"\\" not in text:
        return names
    try:
        return [_WRITTEN.sub(lambda match: _UNESCAPES[match[0]], name) for name in names]
    except KeyError as error:
        raise ValueError(f"has an unknown escape {error}") from None


class LazyNames(Mapping[str, list[str]]):
    """Lists of names by what they name; each is decoded once, on first use.

    Examples
    --------
    >>> names = LazyNames({"labels": lambda: ["tool", "game"]})
    >>> list(names), names["labels"][1]
    (['labels'], 'game')
    """

    def __init__(self, loaders: Mapping[str, Callable[[], list[str]]]) -> None:
        self._loaders = dict(loaders)
        self._loaded: dict[str, list[str]] = {}

    def __getitem__(self, key: str) -> list[str]:
        if key not in self._loaded:
            self._loaded[key] = self._loaders[key]()
        return self._loaded[key]

    def __reduce__(self) -> tuple[type, tuple[dict[str, list[str]]]]:
        return dict, (dict(self),)  # decoded: a mapped file can't be pickled

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)
