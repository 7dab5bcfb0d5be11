"""Let ``python -m swnn_xp`` be the `swnn` command."""

import sys

from swnn_xp.cli.main import main

sys.exit(main())
