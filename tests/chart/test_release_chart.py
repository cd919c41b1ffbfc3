"""The chart of a release: it installs the images by digest, and tells Artifact Hub what it is."""

import tarfile
from pathlib import Path

import pytest
import release_chart
import yaml

from tests.chart.helm import CHART, HelmError, render, template

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
OPERATOR, MEMBER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
CHANGELOG = f"""# Changelog

## [Unreleased]

- Not this.

## [{VERSION}] - 2026-11-24

### Added

- A thing: of two
  lines.
- Another.

### Fixed

- A mistake.

## [0.0.1]

- Nor this.
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package, _ = release_chart.pack(tmp_path_factory.mktemp("release"), VERSION, OPERATOR, MEMBER)
    return package


def test_a_packed_chart_installs_the_images_by_their_digests(package: Path) -> None:
    release_chart.check(package, VERSION, OPERATOR, MEMBER)
    with pytest.raises(release_chart.ChartError, match=f"does not install logpersister:{VERSION}@sha256:cc"):
        release_chart.check(package, VERSION, OPERATOR, "sha256:" + "c" * 64)


def test_images_that_are_on_the_nodes_already_have_no_digest_there(package: Path) -> None:
    assert f'image: "logpersister-operator:{VERSION}"' in template(chart=package)


def test_a_packed_chart_keeps_the_comments_of_its_values(package: Path) -> None:
    with tarfile.open(package) as files:
        member = files.extractfile("logpersister/values.yaml")
        assert member is not None
        packed = member.read().decode()
    ours = (CHART / "values.yaml").read_text()
    assert [line for line in packed.splitlines() if "#" in line] == [line for line in ours.splitlines() if "#" in line]


def test_the_section_of_a_version_becomes_its_changes() -> None:
    assert release_chart.changes(CHANGELOG, VERSION) == [
        {"kind": "added", "description": "A thing: of two lines."},
        {"kind": "added", "description": "Another."},
        {"kind": "fixed", "description": "A mistake."},
    ]
    assert not release_chart.changes(CHANGELOG, "9.9.9")


def test_artifact_hub_is_told_of_images_and_changes() -> None:
    chart = {"name": "logpersister", "version": "1.0.0-rc.1", "annotations": {"artifacthub.io/license": "Apache-2.0"}}
    told = release_chart.described(chart, {"logpersister": MEMBER}, [{"kind": "added", "description": "x"}])[
        "annotations"
    ]
    assert yaml.safe_load(told["artifacthub.io/images"]) == [
        {"name": "logpersister", "image": f"logpersister:1.0.0-rc.1@{MEMBER}"}
    ]
    assert yaml.safe_load(told["artifacthub.io/changes"]) == [{"kind": "added", "description": "x"}]
    assert (told["artifacthub.io/prerelease"], told["artifacthub.io/license"]) == ("true", "Apache-2.0")


def test_a_digest_pins_what_a_registry_has() -> None:
    def images(values: dict[str, object]) -> tuple[str, str]:
        rendered = render({"image": values})
        return rendered.pod()["containers"][0]["image"], rendered.environment()["LOGPERSISTER_OPERATOR_IMAGE"]

    digests = {"operator": OPERATOR, "member": MEMBER}
    assert images({"registry": "r", "digests": digests}) == (
        f"r/logpersister-operator:{VERSION}@{OPERATOR}",
        f"r/logpersister:{VERSION}@{MEMBER}",
    )
    assert images({"registry": "r", "member": "own:1", "digests": digests})[1] == "own:1"
    assert images({"registry": "r", "digests": None}) == (
        f"r/logpersister-operator:{VERSION}",
        f"r/logpersister:{VERSION}",
    )
    with pytest.raises(HelmError, match="does not match pattern"):
        images({"registry": "r", "digests": {"member": "sha256:short"}})
