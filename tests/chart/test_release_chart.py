"""The chart of a release: it installs the images by digest, and tells Artifact Hub what it is."""

from pathlib import Path

import pytest
import release_chart
import yaml

from tests.chart.helm import CHART, HelmError, render, template

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
OPERATOR, MEMBER = "sha256:" + "a" * 64, "sha256:" + "b" * 64


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
