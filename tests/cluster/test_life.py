"""What a user does first, as `make demo ARGS=kubernetes` plays it: apply, look, change, change badly, delete."""

import re
from pathlib import Path

import pytest

from examples.kubernetes_demo import PLACE, Story
from examples.steps import Steps
from tests.cluster.kubectl import Kubectl
from tests.integration.test_demo import not_printed, shape
from tests.pages import DOCS
from tests.stack import KafkaBroker, MinioServer
from tests.stack.artifacts import ROOT

_RECORDS = 4_000
_RECORDING = re.compile(
    r"```console\n\$ make demo ARGS=kubernetes\n.*?(^ *[\d.]+ s  write .*?)^ *[\d.]+ s  helm ", re.DOTALL | re.MULTILINE
)
_LIST = re.compile(r"kubectl get lp\n(NAME.*?)(?:```|\n\n)", re.DOTALL)


def test_the_story_of_the_demo_is_true_and_on_the_pages(
    kubectl: Kubectl, kafka: KafkaBroker, minio: MinioServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The story fails by itself where a step does not come about, or a record is not stored exactly once."""
    Story(Steps(), kubectl, kafka, minio, tmp_path).play(_RECORDS)
    told = capsys.readouterr().out.replace(str(tmp_path), str(PLACE.relative_to(ROOT)))
    recorded = _RECORDING.search((DOCS / "demo.md").read_text())
    assert recorded
    assert not_printed(_shape(recorded[1]), _shape(told)) == []
    listed = [_LIST.search(text) for text in (told, (ROOT / "README.md").read_text())]
    assert listed[0]
    assert listed[1]
    assert _shape(listed[0][1]) == _shape(listed[1][1]), "what the README shows first"


def _shape(text: str) -> list[str]:
    """Return what does not change from run to run.

    Revisions are hashes. How a rollout is at the moment, and what of a bad revision is noticed first, depends on the
    machine; that it failed because of its bucket does not.
    """
    text = re.sub(r"\b[0-9a-f]{12}\b", "HASH", text)
    text = re.sub(r"(?m)^(clicks-backup) .*(Canary|Failed).*", r"\1 \2", text)
    return shape(re.sub(r"(?s)(revision HASH failed: ).*?(no-such-bucket).*?(?=\nNAME)", r"\1\2", text))
