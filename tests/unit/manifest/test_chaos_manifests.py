"""The manifests of `make chaos` are accepted, so that a change of the rules is noticed before a long run."""

from dataclasses import replace
from typing import Any

import pytest

from logpersister.manifest import parse
from logpersister.manifest.revisions.revision import revision_of
from tests.chaos import sales
from tests.chaos.choices import TABLES, Choices
from tests.chaos.outputs import OUTPUTS, Addresses, Edits, Output, outputs

ADDRESSES = Addresses("127.0.0.1:9092", "http://127.0.0.1:9000", "http://127.0.0.1:8081", "http://127.0.0.1:8181")


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=lambda output: output.name)
def test_a_manifest_and_its_correction_are_accepted(output: Output) -> None:
    revisions = {
        revision_of(parse(output.manifest(ADDRESSES, session_seconds=20, edits=Edits(corrected=corrected))), "1").hash
        for corrected in (False, True)
    }
    assert len(revisions) == (2 if output.is_corrected else 1), "a correction is another revision"


@pytest.mark.parametrize("table", TABLES)
def test_a_version_is_named_wherever_sales_are(table: Any) -> None:
    addresses = replace(ADDRESSES, catalog="thrift://127.0.0.1:9083") if table == "hive" else ADDRESSES
    for output in outputs(Choices(table=table)).values():
        latest, named = (output.manifest(addresses, session_seconds=20, edits=Edits(version=one)) for one in (None, 3))
        parse(named)
        assert (named != latest) == any(topic.name == sales.TOPIC for topic in output.topics)
