"""The lines that ``logpersister schema infer`` prints for fields."""

from logpersister.cli.schema import fields_text
from logpersister.records.inference import InferredField
from logpersister.schemas.types import Plain


def _field(name: str, share: float, problem: str | None = None, remark: str = "") -> InferredField:
    return InferredField(name, Plain("int64"), share, problem, remark)


def test_a_line_for_each_field() -> None:
    fields = [_field("id", 1), _field("no", 0.99999), _field("seldom", 0.00001), _field("a b", 0.5, "odd name")]
    assert list(fields_text([*fields, _field("never", 0, remark="always null")])) == [
        "        - {name: id, type: int64}      # in all",
        '        - {name: "no", type: int64}    # in 99.9%',
        "        - {name: seldom, type: int64}  # in 0.1%",
        "        # a b: no column: odd name; unknownFields: keep would store it (in 50.0%)",
        "        - {name: never, type: int64}   # in none; always null",
    ]
