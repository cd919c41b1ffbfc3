"""What programs import, and how."""

import gc
import subprocess
import sys

import pytest

from logpersister.imports import uncollected


def test_no_garbage_is_looked_for_in_the_block() -> None:
    frozen = gc.get_freeze_count()
    try:
        with pytest.raises(ImportError), uncollected():
            assert not gc.isenabled()
            raise ImportError
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()


def test_what_hands_streams_over_imports_little() -> None:
    script = (
        "import sys\n"
        "before = set(sys.modules)\n"  # a measurement of coverage has its own
        "import logpersister.pipeline.daemon\n"
        "print(*sys.modules.keys() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    found = done.stdout.split()
    assert "logpersister.pipeline.handover" in found
    assert {name for name in found if name.partition(".")[0] not in {"logpersister", *sys.stdlib_module_names}} == set()
    assert not {"importlib.metadata", "email", "zipfile"} & set(found), "half of what this process costs"
