"""``python -m logpersister_operator.crd FILE TEMPLATE`` writes the CRD and the chart's copy; ``make crds`` calls it."""

import sys
from pathlib import Path

from logpersister_operator.crd.files import template, text


def main(file: Path, chart_template: Path) -> None:
    for path, content in ((file, text()), (chart_template, template())):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
