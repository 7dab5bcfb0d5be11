"""asv, but following every commit that HEAD holds.

asv follows first parents only. Here branches are often merged by fast-forward, after which commits
of the main line are second parents: their results would no longer be drawn.
"""

from __future__ import annotations

import shlex
import sys
from typing import Any

from asv.main import main
from asv.plugins.git import Git


def every_commit(self: Any, range_spec: str = "") -> list[str]:
    """Hashes of all commits of a range, as asv asks for them."""
    command = ["rev-list", *(shlex.split(range_spec) or ["HEAD"]), "--"]
    return self._run_git(command, valid_return_codes=(0, 1), dots=False).split()


if __name__ == "__main__":
    Git.get_hashes_from_range = every_commit
    sys.exit(main())
