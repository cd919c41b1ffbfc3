"""``spec.output.text``."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from logpersister.forms.constraint import Model, Text, must
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses

Delimiter = Annotated[
    str,
    Text(
        r"^[\s\S]+$",
        "is not 1 to 16 bytes long",
        'write for example "\\n" in double quotes',
        16,
        conditions=(
            must(
                lambda text: len(text.encode()) <= 16,
                "is not 1 to 16 bytes long",
                'write for example "\\n" in double quotes',
            ),
        ),
    ),
]


class TextSpec(Model):
    """One value after another, each followed by the delimiter."""

    compression: Literal["gzip", "zstd", "none"] = "gzip"
    """Compression of the whole object."""

    tombstones: Literal["skip", "empty"] = "skip"
    """Treatment of a record whose value is null: `skip` leaves it out, `empty` writes an empty value."""

    delimiter: Delimiter = "\n"
    """Written after each value. If values contain line breaks, set it for example to `"\\u001e"`."""

    delimiter_in_value: Literal["keep", "escape"] = "keep"
    """Treatment of a delimiter inside a value: `keep` stores the value unchanged, so that a reader sees two lines;
    `escape` makes one record one line.
    """

    @refuses
    def _escapes_are_unambiguous(self) -> Iterator[Finding]:
        if self.delimiter_in_value == "escape" and re.search(r"[A-Za-z0-9\\]", self.delimiter):
            told = "has a letter, digit or backslash, which escapes themselves contain"
            yield Finding(told, "choose another, or set delimiterInValue to keep", ("delimiter",))
