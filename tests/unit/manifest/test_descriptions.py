"""Descriptions of fields are their docstrings, by the names that JSON has."""

from definitions.descriptions import field_descriptions
from definitions.schema import json_schema
from pydantic import BaseModel, Field

from logpersister.forms.constraint import Model


class Plain(Model):
    first_field: int
    """The first
    of them."""
    undescribed: int
    redeclared: int
    """As the base says."""
    given: int = Field(description="Given at the field.")
    """Not this one."""
    last: "Described | None" = None
    """Of another class."""


class Described(Plain):
    """A class."""

    redeclared: int
    own: int
    """Of the subclass."""


class Elsewhere(BaseModel):
    own: Described


def test_docstrings_are_found_in_the_class_and_its_bases() -> None:
    inherited = {"firstField": "The first\nof them.", "last": "Of another class."}
    assert field_descriptions(Plain) == {**inherited, "redeclared": "As the base says."}
    assert field_descriptions(Described) == {**inherited, "own": "Of the subclass."}


def test_a_schema_has_them() -> None:
    properties = json_schema(Described)["$defs"]["Described"]["properties"]
    found = {name: field.get("description") for name, field in properties.items()}
    assert found == {
        "firstField": "The first\nof them.",
        "undescribed": None,
        "redeclared": None,
        "given": "Given at the field.",
        "last": "Of another class.",
        "own": "Of the subclass.",
    }
    assert json_schema(Elsewhere)["properties"]["own"] == {"$ref": "#/$defs/Described"}
