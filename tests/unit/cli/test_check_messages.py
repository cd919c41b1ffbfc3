"""What ``logpersister check`` says of protobuf messages whose schema stands in the manifest."""

import pytest

from logpersister.cli.check import Finding, _messages
from tests.unit.manifest.documents import accepted


@pytest.mark.parametrize(("type_", "is_row"), [("int64", True), ("string", False)])
def test_it_says_which_field_no_message_fits(type_: str, is_row: bool) -> None:
    schema = {"protobuf": "message Order { optional int64 id = 1; }", "fields": [{"name": "id", "type": type_}]}
    changes = {"spec.parser": {"type": "protobuf", "framing": "plain"}, "spec.schema": schema}
    told = (
        "spec.schema.fields: id: the writer's message has int64, which cannot become string; "
        "all records would go into quarantine; correct the field or the message"
    )
    assert list(_messages(accepted(changes).spec)) == ([] if is_row else [Finding("schema", "warning", told)])
