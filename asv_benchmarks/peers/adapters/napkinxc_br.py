"""napkinXC: binary relevance, one logistic regression a label."""

from __future__ import annotations

from .napkinxc_plt import Peer as Base


class Peer(Base):
    title = "napkinXC BR"
    model = "BR"
