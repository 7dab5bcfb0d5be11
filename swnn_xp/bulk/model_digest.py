"""What identifies a saved model."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from swnn_xp.store.manifest import FILE


def model_digest(path: str | os.PathLike[str]) -> str:
    """Digest of a model's manifest, which holds the checksums of all its other files."""
    return hashlib.sha256((Path(path) / FILE).read_bytes()).hexdigest()
