"""The manifests of `make chaos` are accepted, so that a change of the rules is noticed before a long run."""

from dataclasses import replace

import pytest

from logpersister.manifest import parse
from logpersister.manifest.revisions.revision import revision_of
from tests.chaos.choices import Choices
from tests.chaos.outputs import OUTPUTS, Addresses, Edits, Output, outputs

ADDRESSES = Addresses("127.0.0.1:9092", "http://127.0.0.1:9000", "http://127.0.0.1:8081", "http://127.0.0.1:8181")
OF_HIVE = outputs(Choices(table="hive"))["table"]


@pytest.mark.parametrize("output", [*OUTPUTS.values(), OF_HIVE], ids=["text", "files", "rows", "iceberg", "hive"])
def test_a_manifest_and_its_correction_are_accepted(output: Output) -> None:
    addresses = replace(ADDRESSES, catalog="thrift://127.0.0.1:9083") if output is OF_HIVE else ADDRESSES
    revisions = {
        revision_of(parse(output.manifest(addresses, session_seconds=20, edits=Edits(corrected=corrected))), "1").hash
        for corrected in (False, True)
    }
    assert len(revisions) == (2 if output.is_corrected else 1), "a correction is another revision"
