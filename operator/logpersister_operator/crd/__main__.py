"""``python -m logpersister_operator.crd FILE`` writes the CRD; ``make crds`` calls it."""

import sys
from pathlib import Path

from logpersister_operator.crd.text import text


def main(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
