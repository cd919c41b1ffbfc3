"""From a file to the model: what YAML may say, and on which line it went wrong."""

import contextlib
import io
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest import ManifestError, load, parse, parse_text
from tests.examples import examples

MANIFEST = """\
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata: {name: clicks-backup}
spec:
  kafka:
    bootstrapServers: broker-1:9092
    topics:
      - clicks
      - orders
  storage:
    bucket: logs
"""


def error_of(text: str | bytes) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        parse_text(text, "clicks.yaml")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value).splitlines()


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "clicks.yaml"
    file.write_text(MANIFEST)
    assert load(file).spec.kafka.topics == ("clicks", "orders")
    assert load(str(file)) == load(file)


def test_a_character_that_json_escapes_in_two_halves_is_one() -> None:
    rows = """
  value: {json: {fields: [{name: "\\ud83d\\ude00", type: string}]}}
"""
    schema = parse_text(MANIFEST + rows).spec.row_schema
    assert schema is not None
    assert schema.columns[0].name == "\U0001f600"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        ManifestError, match=r"none\.yaml: cannot be read .No such file or directory\.?.; name a manifest"
    ):
        load(tmp_path / "none.yaml")
    with pytest.raises(ManifestError, match=r"cannot be read .Is a directory"):
        load(tmp_path)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ManifestError, match="is larger than 1000000 bytes"):
        load(large)


def test_a_problem_has_its_line() -> None:
    text = MANIFEST.replace("- orders", "- 'or ders'").replace("bucket: logs", "bucket: logs\n    prefx: raw")
    assert error_of(text + "  members: 0\n") == [
        (
            'clicks.yaml:9: spec.kafka.topics[1]: "or ders" is not a name that Kafka allows for a topic; write the '
            "name as `kafka-topics --list` prints it; for a pattern use topicPattern"
        ),
        "clicks.yaml:12: spec.storage.prefx: is an unknown field; did you mean prefix?",
        "clicks.yaml:13: spec.members: 0 is not within 1 to 1000; write a value from 1 to 1000",
    ]


def test_a_contradiction_has_the_line_of_its_field() -> None:
    text = MANIFEST.replace("  storage:", "    security:\n      protocol: SSL\n      mechanism: PLAIN\n  storage:")
    assert error_of(text)[0].startswith(
        'clicks.yaml:12: spec.kafka.security.mechanism: "PLAIN" contradicts protocol SSL'
    )


def test_a_key_twice_is_refused() -> None:
    assert error_of(MANIFEST + "    bucket: other\n") == [
        "clicks.yaml:12: spec.storage.bucket: is set twice (first on line 11); remove one of them"
    ]
    assert "metadata.name: is set twice" in error_of(MANIFEST.replace("{name: clicks-backup}", "{name: a, name: a}"))[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "clicks.yaml: is empty; begin with apiVersion"),
        ("- a\n", "clicks.yaml: is not a mapping"),
        (MANIFEST + "---\n" + MANIFEST, "clicks.yaml:13: has 2 documents; put each in a file of its own"),
        (MANIFEST + "\tmembers: 1\n", "clicks.yaml:12: is not YAML: column 1: "),
        (MANIFEST + "  members: [1\n", "clicks.yaml:13: is not YAML: column 1: while parsing a flow sequence"),
        (MANIFEST + "  members: *unknown\n", "clicks.yaml:12: is not YAML: column 12: found undefined alias"),
        (MANIFEST + "  members: !!python/object:os.system x\n", "clicks.yaml:12: has a tag or key"),
        (MANIFEST + "  ? [a]\n  : 1\n", "clicks.yaml:12: has a tag or key"),
        (b"a: \xff", "is not YAML: it has bytes that are not text; save the file as UTF-8"),
        (MANIFEST + "  upload: &a [*a]\n", "clicks.yaml:12: spec.upload[0]: contains itself; remove the alias"),
        ("[" * 500, "is nested too deeply"),
        ('a: "\\ud800x"\n', "clicks.yaml:1: is not YAML: column 4: it has half a character"),
    ],
)
def test_what_is_not_a_manifest(text: str | bytes, expected: str) -> None:
    lines = error_of(text)
    assert len(lines) == 1
    assert expected in lines[0]


def test_aliases_that_multiply_are_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "has too many values, or aliases that multiply" in error_of("\n".join(levels))[0]


def test_anchors_and_merges_work() -> None:
    text = MANIFEST + (
        "  overrides:\n    - &fast {topicPattern: ^a, upload: {maxAge: 1m}}\n    - {<<: *fast, topicPattern: ^b}\n"
    )
    overrides = parse_text(text).spec.overrides
    limits = overrides[0].upload
    assert [(one.topic_pattern, one.upload) for one in overrides] == [("^a", limits), ("^b", limits)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [("2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z"), ("'latest'", "latest"), ("earliest", "earliest")],
)
def test_times_need_no_quotes(written: str, expected: str) -> None:
    text = MANIFEST.replace("  storage:", f"    startFrom: {written}\n  storage:")
    assert parse_text(text).spec.kafka.start_from == expected


def test_unknown_metadata_is_refused_in_files_and_let_through_from_the_api_server() -> None:
    text = MANIFEST.replace("{name: clicks-backup}", "{name: clicks-backup, namesapce: data}")
    assert error_of(text) == ["clicks.yaml:3: metadata.namesapce: is an unknown field; did you mean namespace?"]
    document = yaml.safe_load(MANIFEST)
    document["metadata"] |= {"namesapce": "data", "managedFields": []}
    assert parse(document).metadata.name == "clicks-backup"


def test_a_manifest_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MANIFEST.encode())))
    assert load("-").group_id == "clicks-backup"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"spec: 1")))
    with pytest.raises(ManifestError, match=r"^standard input:1: "):
        load("-")


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "y", "n"])
def test_words_of_yaml_1_1_are_text(word: str) -> None:
    text = MANIFEST.replace("- orders", f"- {word}")
    assert parse_text(text).spec.kafka.topics == ("clicks", word)
    assert f'"{word}" is neither true nor false' in error_of(MANIFEST + f"    pathStyle: {word}\n")[0]


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ("output: {parquet: {tombstones: null}}", "output.parquet.tombstones"),
        ("value: {csv: {fields: [{name: a, type: int8}], quote: ~}}", "value.csv.quote"),
        ("overrides: [{topicPattern: c.*, output: {avro: {tombstones:}}}]", "overrides[0].output.avro.tombstones"),
    ],
)
def test_null_is_no_word(section: str, path: str) -> None:
    assert (
        f'clicks.yaml:12: spec.{path}: is null, which stands for the default; write the text in quotes ("null", or "" '
        "for none), or remove the field"
    ) in error_of(f"{MANIFEST}  {section}\n")


@pytest.mark.parametrize("number", ["0x10", "010", "1_0", "1:30", "0o7", pytest.param("9" * 5000, id="5,000 digits")])
def test_numbers_of_yaml_1_1_are_text(number: str) -> None:
    assert "spec.members: " in error_of(MANIFEST + f"  members: {number}\n")[0]


@examples(150)
@given(st.data())
def test_a_broken_manifest_gives_problems(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(MANIFEST)))
    text = (
        MANIFEST[:position]
        + data.draw(st.text(max_size=8))
        + MANIFEST[data.draw(st.integers(position, len(MANIFEST))) :]
    )
    with contextlib.suppress(ManifestError):
        parse_text(text)
