"""``python -m logpersister`` is the command ``logpersister``."""

import sys

from logpersister.cli import main

sys.exit(main())
