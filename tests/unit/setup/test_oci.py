"""OCI layouts: what a registry gets is what the digests say."""

import json
from pathlib import Path

import oci
import pytest

CHART = {"name": "logpersister", "version": "0.1.0", "description": "An operator."}


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    oci.write_chart(tmp_path / "chart", "0.1.0", CHART, b"packed")
    return tmp_path / "chart"


def blobs(layout: Path) -> Path:
    return layout / "blobs" / "sha256"


def test_a_chart_is_a_manifest_with_its_config_and_its_package(layout: Path) -> None:
    digest = oci.digest(layout)
    manifest = json.loads((blobs(layout) / digest.removeprefix("sha256:")).read_text())
    (content,) = manifest["layers"]
    assert (blobs(layout) / content["digest"].removeprefix("sha256:")).read_bytes() == b"packed"
    config = json.loads((blobs(layout) / manifest["config"]["digest"].removeprefix("sha256:")).read_text())
    assert config == CHART
    (named,) = json.loads((layout / "index.json").read_text())["manifests"]
    assert named["annotations"] == {"org.opencontainers.image.ref.name": "0.1.0"}


def test_the_same_content_has_the_same_digest(layout: Path, tmp_path: Path) -> None:
    oci.write_chart(tmp_path / "again", "0.1.0", dict(reversed(CHART.items())), b"packed")
    oci.write_chart(tmp_path / "other", "0.1.0", CHART, b"other")
    assert oci.digest(tmp_path / "again") == oci.digest(layout) != oci.digest(tmp_path / "other")


def test_what_is_damaged_or_missing_has_no_digest(layout: Path) -> None:
    for blob in blobs(layout).iterdir():
        content = blob.read_bytes()
        blob.write_bytes(content[:-1] + b"?")
        with pytest.raises(ValueError, match="is damaged"):
            oci.digest(layout)
        blob.unlink()
        with pytest.raises(ValueError, match="has no blob sha256:"):
            oci.digest(layout)
        blob.write_bytes(content)
