"""A model behind HTTP: `swnn serve`.

The event loop reads a request and checks its limits; one of a few threads, each with its own
session, answers it. Requests are refused immediately when too many wait. The model can be replaced
while requests run: each is answered by the model that was in use when it began.
"""

try:
    import msgspec as _msgspec  # noqa: F401
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    needs = "swnn serve needs Starlette, uvicorn and msgspec: pip install 'swnn-xp[serve]'"
    raise ImportError(needs) from error

from swnn_xp.serve.app import create_app
from swnn_xp.serve.run import serve
from swnn_xp.serve.security import HTTPOptions
from swnn_xp.serve.service import Service
from swnn_xp.serve.wire import Limits

__all__ = ["HTTPOptions", "Limits", "Service", "create_app", "serve"]
