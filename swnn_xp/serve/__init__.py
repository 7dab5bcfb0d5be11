"""A model behind HTTP: `swnn serve`.

A request is read and limited by the event loop, answered by one of a few threads with a session of
its own, and refused at once when too many wait. The model can be swapped while requests run: each
is answered by the model that was there when it began.
"""

try:
    import fastapi as _fastapi  # noqa: F401
    import msgspec as _msgspec  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    needs = "swnn serve needs FastAPI, uvicorn and msgspec: pip install 'swnn-xp[serve]'"
    raise ImportError(needs) from error

from swnn_xp.serve.app import create_app
from swnn_xp.serve.limits import Limits
from swnn_xp.serve.run import serve
from swnn_xp.serve.service import Service

__all__ = ["Limits", "Service", "create_app", "serve"]
