"""Data sets: one shipped, others found on disk by name, and synthetic twins of the paper's."""

from ._dataset import Dataset
from ._load import load

__all__ = ["Dataset", "load"]
