"""Arrays, parameters and names in a folder: memory-mapped, versioned, checksummed, no pickle.

A folder holds ``manifest.json`` and one folder ``data-<number>`` with the arrays (``.npy``) and
the names (``.txt``) that the manifest lists. A save writes a new data folder, makes it durable,
and then replaces the manifest in one step: a crash or a full disk leaves the old model or the new
one. What a crash leaves behind is removed by the next save. Models that were opened before stay
usable, since their mapped files live on until they are let go.
"""

from swnn_xp.store.files import StoreError
from swnn_xp.store.opening import StoredModel, open_arrays, verify
from swnn_xp.store.saving import save_arrays

__all__ = ["StoreError", "StoredModel", "open_arrays", "save_arrays", "verify"]
