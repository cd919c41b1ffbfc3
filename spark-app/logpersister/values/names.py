"""Names of columns."""

from typing import Annotated, Final

from logpersister.forms.constraint import Text, never
from logpersister.schemas.types import FIELD_PATH, KAFKA_PREFIX, NAME

_NAME: Final = Text(
    rf"^{NAME}$",
    "is not a name for a column (letters of any script, digits, _, @, $ and -, no digit or - first)",
    "write another name, for example service_name",
    64,
    conditions=(
        never(
            rf"^(?i:{KAFKA_PREFIX})",
            f"begins with {KAFKA_PREFIX}, which is for Kafka's own fields",
            "leave the field out; offset, key and the like become columns by spec.output.kafkaColumns",
        ),
    ),
)
FieldName = Annotated[str, _NAME]


NullText = Annotated[
    str,
    Text(
        r"^[^\r\n]*$",
        "is not a text of one line",
        "write what stands for null, for example NULL or \\N",
        64,
    ),
]

FieldPath = Annotated[
    str,
    Text(
        FIELD_PATH,
        "is not the path of a field",
        "write names of spec.value with dots between them, for example geo.country",
        253,
    ),
]
