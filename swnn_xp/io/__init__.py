"""Text files in and out: the repository's format, svmlight, and maps of names."""

from swnn_xp.io.files import FormatError, Position
from swnn_xp.io.reading import (
    XMCBlock,
    iter_xmc,
    read_label_features,
    read_names,
    read_pairs,
    read_svmlight,
    read_xmc,
    write_names,
)
from swnn_xp.io.writing import write_xmc

__all__ = [
    "FormatError",
    "Position",
    "XMCBlock",
    "iter_xmc",
    "read_label_features",
    "read_names",
    "read_pairs",
    "read_svmlight",
    "read_xmc",
    "write_names",
    "write_xmc",
]
