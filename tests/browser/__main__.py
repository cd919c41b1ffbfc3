"""``python -m tests.browser [PYTEST OPTIONS]``: pages in a real browser, `make test-browser`.

The browser is Debian's Chromium. ``UPDATE_GOLDEN=1`` writes the screenshots of docs/images anew.
"""

import subprocess
import sys
from pathlib import Path

from tests.stack.artifacts import ROOT


def main() -> int:
    """Return the exit code of pytest, or 1 with a message when there is no browser."""
    if subprocess.run([sys.executable, str(ROOT / "scripts" / "debian.py"), "browser"], check=False).returncode != 0:
        return 1
    pytest = [sys.executable, "-m", "pytest", "--quiet", "--tb=short", "--browser", str(Path(__file__).parent)]
    return subprocess.run([*pytest, *sys.argv[1:]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
