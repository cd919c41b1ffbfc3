"""What texts become in columns of other types, by choice; no code of the native parser is in it."""

from typing import Any, Final

from logpersister.forms.notation import epoch_unit
from logpersister.schemas.types import Plain, Timestamp, Type
from tests.judges.json_values import Reading, column_value, document_text, number_value
from tests.judges.refusal import RefusalError

_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def text_value(text: str, type_: Type, reading: Reading) -> Any:
    """Return what a text becomes. Raises `RefusalError`."""
    match type_:
        case Plain("bool"):
            if text not in _BOOLS:
                raise RefusalError("bad_text")
            return _BOOLS[text]
        case Plain("json"):
            return document_text(text)
        case Plain("int8" | "int16" | "int32" | "int64" | "float32" | "float64"):
            return number_value(text, type_, reading)
        case Timestamp() if epoch_unit(reading.format) is not None:
            return number_value(text, type_, reading)
        case _:
            return column_value(text, type_, reading)
