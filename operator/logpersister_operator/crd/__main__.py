"""``python -m logpersister_operator.crd FILE`` writes the CRD; ``make crds`` calls it."""

import sys
from pathlib import Path

from logpersister_operator.crd.text import text

if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.parent.mkdir(exist_ok=True)
    file.write_text(text())
