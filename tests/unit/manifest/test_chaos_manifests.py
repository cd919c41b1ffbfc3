"""The manifests of `make chaos` are accepted, so that a change of the rules is noticed before a long run."""

import pytest

from logpersister.manifest import parse
from logpersister.manifest.revision import revision_of
from tests.chaos.outputs import OUTPUTS, Addresses, Output

ADDRESSES = Addresses("127.0.0.1:9092", "http://127.0.0.1:9000", "http://127.0.0.1:8081", "http://127.0.0.1:8181")


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=lambda output: output.name)
def test_a_manifest_and_its_correction_are_accepted(output: Output) -> None:
    revisions = {
        revision_of(parse(output.manifest(ADDRESSES, session_seconds=20, corrected=corrected)), "1").hash
        for corrected in (False, True)
    }
    assert len(revisions) == (2 if output.is_corrected else 1), "a correction is another revision"
