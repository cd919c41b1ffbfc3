"""What the members and operators of earlier releases have noted means the same, and has the same hash, in this one.

Each file of golden/revisions is of a release, and never changes once that is published. When the files of the release
that is being made differ after a wanted change: ``make golden``.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from logpersister import __version__
from logpersister.forms.sparse import sparse
from logpersister.manifest import parse
from logpersister.manifest.revisions.revision import resource_of, revision_of
from tests.unit.manifest.documents import changed
from tests.unit.manifest.rich import BY_NAME, BY_PATTERN

GOLDEN = Path(__file__).parent / "golden" / "revisions"
CODE = "registry.example/logpersister:1"
MANIFESTS: dict[str, dict[str, Any]] = {
    "small": changed({}),
    "files": changed({"spec.output": {"sequencefile": {}}, "spec.kafka.groupId": "other"}),
    "by-name": BY_NAME,
    "by-pattern": BY_PATTERN,
}


def noted(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what a release notes of a manifest."""
    resource = parse(manifest)
    revision = revision_of(resource, CODE)
    meaning = resource.model_dump(mode="json", by_alias=True)["spec"]
    found = {"manifest": manifest, "revision": revision.hash, "document": revision.document, "meaning": meaning}
    return found | {"read": sparse(resource)}


def releases() -> list[Path]:
    if os.environ.get("UPDATE_GOLDEN") == "1":
        text = json.dumps({name: noted(one) for name, one in MANIFESTS.items()}, indent=1, sort_keys=True)
        (GOLDEN / f"{__version__}.json").write_text(text + "\n")
    return sorted(GOLDEN.glob("*.json"))


def means(found: Any, expected: Any) -> bool:
    """Whether all that is expected is found; fields may have been added."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(name in found and means(found[name], value) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(means, found, expected))
    return bool(found == expected)


def test_this_release_has_a_file() -> None:
    assert f"{__version__}.json" in {file.name for file in releases()}


@pytest.mark.parametrize("file", releases(), ids=lambda file: file.stem)
def test_what_a_release_has_noted(file: Path) -> None:
    for name, before in json.loads(file.read_text()).items():
        resource = parse(before["manifest"])
        revision = revision_of(resource, CODE)
        assert revision.document == before["document"], name
        assert revision.hash == before["revision"], f"{name}: every resource like it would be rolled out anew"
        assert sparse(resource) == before["read"], f"{name}: what members of that release read"
        for again in (resource, parse(before["read"])):
            assert means(again.model_dump(mode="json", by_alias=True)["spec"], before["meaning"]), name
        restored = resource_of(before["document"])
        assert revision_of(restored, CODE).hash == before["revision"], name
