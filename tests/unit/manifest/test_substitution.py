"""``${NAME}`` in manifests: what is replaced, what is left, and what is said of a name that is not set."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.cli import context
from logpersister.cli.exits import CommandError, Exit
from logpersister.forms.substitution import SWITCH
from logpersister.manifest import LogPersister, ManifestError, load
from logpersister.manifest.load import parse_text
from tests.examples import examples

MANIFEST = """\
# a comment may name ${ANYTHING}
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata: {name: "${TEAM:-clicks}-backup"}
spec:
  kafka: {bootstrapServers: "${BROKERS}", topics: [clicks]}
  storage:
    bucket: ${BUCKET}
    prefix: "${PREFIX:-raw}"
  members: ${MEMBERS:-3}
"""
VARIABLES = {"BROKERS": "b:9092,c:9092", "BUCKET": "logs", "EMPTY": ""}


def parsed(text: str = MANIFEST, **more: str) -> LogPersister:
    return parse_text(text, "clicks.yaml", {**VARIABLES, **more})


def errors(text: str, **more: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        parsed(text, **more)
    return str(caught.value).splitlines()


def test_variables_and_defaults_have_the_types_of_what_stands_there() -> None:
    found = parsed(TEAM="", PREFIX="2026")
    assert found.name == "clicks-backup", "as in a shell, an empty variable gets the default"
    assert [str(address) for address in found.spec.kafka.addresses] == ["b:9092", "c:9092"]
    assert (found.spec.storage.bucket, found.spec.storage.prefix, found.spec.members) == ("logs", "2026", 3)


def test_a_name_that_is_not_set_is_named_with_its_line() -> None:
    text = MANIFEST.replace("${BUCKET}", "${BUKET}").replace("${BROKERS}", "${SERVERS}:${PORT}")
    found = errors(text)
    for line, field, name in (
        (6, "kafka.bootstrapServers", "SERVERS"),
        (6, "kafka.bootstrapServers", "PORT"),
        (8, "storage.bucket", "BUKET"),
    ):
        assert found.pop(0) == (
            f"clicks.yaml:{line}: spec.{field}: names the variable {name}, which is not set; set it, or give a "
            f"default: ${{{name}:-default}}; write $${{ where the text ${{ itself is meant"
        )
    assert not found


@pytest.mark.parametrize("text", ["${1}", "${A-b}", "${", "${A B}", "${A:=b}"])
def test_what_is_no_reference_is_refused(text: str) -> None:
    (error,) = errors(MANIFEST.replace("${PREFIX:-raw}", text), A="x")
    assert error.startswith("clicks.yaml:9: spec.storage.prefix: has a ${ that begins no ${NAME} or ${NAME:-default}")


def test_an_escape_gives_the_text_itself() -> None:
    text = MANIFEST.replace("topics: [clicks]", 'topicPattern: "^web$"')
    assert parsed(text).spec.kafka.topic_pattern == "^web$"
    assert note("$${BUCKET} $B $$ ${BUCKET}") == "${BUCKET} $B $$ logs"


def note(text: str, **more: str) -> object:
    """Return what becomes of a field that may hold any text."""
    manifest = MANIFEST.replace("  members: ${MEMBERS:-3}", f'  podTemplate: {{spec: {{note: "{text}", other: 1}}}}')
    template = parsed(manifest, **more).spec.pod_template
    assert template is not None
    assert template.spec["other"] == 1
    return template.spec["note"]


@examples(50)
@given(value=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_what_a_variable_holds_stays_one_value(value: str) -> None:
    assert note("${NOTE}", NOTE=value) == value


def test_without_variables_everything_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clicks.yaml"
    file.write_text("""
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata: {name: clicks-backup, annotations: {note: "${NOTE:-none}"}}
spec:
  kafka: {bootstrapServers: "b:1", topics: [clicks]}
  storage: {bucket: logs}
  podTemplate: {spec: {note: "${NOTE:-none}"}}
""")

    def found(resource: LogPersister) -> object:
        assert resource.spec.pod_template is not None
        return resource.spec.pod_template.spec["note"]

    assert found(load(file)) == "${NOTE:-none}"
    monkeypatch.setenv("NOTE", "mine")
    assert found(context.manifest(str(file))) == "mine"
    monkeypatch.setenv(SWITCH, "no")
    assert found(context.manifest(str(file))) == "${NOTE:-none}"
    monkeypatch.setenv(SWITCH, "never")
    with pytest.raises(CommandError, match="neither yes nor no") as caught:
        context.manifest(str(file))
    assert caught.value.code == Exit.INVALID
