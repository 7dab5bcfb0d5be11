"""Forbid the network in this process."""

import sys


def forbid(event: str, args: object) -> None:
    """Refuse to open, connect or look up anything."""
    if event.startswith(("socket.", "urllib.", "http.client.")):
        raise RuntimeError(f"the network was used: {event} {args}")


def start() -> None:
    """From here on, for the whole process; it can't be taken back."""
    sys.addaudithook(forbid)
