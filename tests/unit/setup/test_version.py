"""One version: wheels, crate, chart, plugin and pages agree, and are set together."""

import shutil
from pathlib import Path

import pytest
import version

from tests.pages import ROOT

FILES = sorted({place.file for place in (version.SOURCE, *version.COPIES)})


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def test_all_places_agree() -> None:
    assert version.version()


def test_they_are_set_together(copy: Path) -> None:
    version.set_version("9.8.7-rc.1", copy)
    assert version.version(copy) == "9.8.7-rc.1"
    for file in FILES:
        changed = zip((ROOT / file).read_text().splitlines(), (copy / file).read_text().splitlines(), strict=True)
        assert all(after == before or "9.8.7-rc.1" in after for before, after in changed), "and nothing else"


@pytest.mark.parametrize("file", [file for file in FILES if file != version.SOURCE.file])
def test_a_place_that_disagrees_is_named(copy: Path, file: str) -> None:
    old = version.version(copy)
    (copy / file).write_text((copy / file).read_text().replace(old, "0.0.9"))
    with pytest.raises(version.VersionError, match=file):
        version.version(copy)
