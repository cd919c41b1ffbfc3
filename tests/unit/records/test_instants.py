"""Notations of times: the native parser, the judge in tests.judges, and Python's own readers agree."""

import random
import re
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import logpersister_native as native
from tests.judges.refusal import RefusalError
from tests.judges.time_texts import instant_of

TEXTS = 3_000
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANGE = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1), 253_402_300_800
DATES = ["%Y-%m-%d", "%Y%m%d"]
TIMES = ["%H", "%H:%M", "%H%M", "%H:%M:%S", "%H%M%S"]
PATTERNS = {
    "yyyyMMdd": "%Y%m%d",
    "dd.MM.yyyy HH": "%d.%m.%Y %H",
    "yyyy/MM/dd HH:mm": "%Y/%m/%d %H:%M",
    "dd/MMM/yyyy:HH:mm:ss Z": "%d/%b/%Y:%H:%M:%S %z",
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXX": "%Y-%m-%dT%H:%M:%S.%f%z",
    "HHmmss'on 'MMM dd',' yyyy": "%H%M%Son %b %d, %Y",
}
"""Of ours, and the same for `strptime`."""
SIGNS = "0123456789:-+.,TtZz /"


def moment(chance: random.Random) -> datetime:
    span = (LAST - FIRST) // timedelta(microseconds=1)
    if chance.random() < 0.3:
        return EPOCH + timedelta(microseconds=chance.randrange(2 * 10**15))
    return FIRST + timedelta(microseconds=chance.randrange(span))


def text_of(chance: random.Random, form: str) -> str:
    found = moment(chance)
    text = found.strftime(form.replace("%Y", f"{found.year:04}").replace("%z", ""))
    return text + (offset(chance, ":" * chance.randrange(2)) if form.endswith("%z") else "")


def offset(chance: random.Random, colon: str) -> str:
    return f"{chance.choice('+-')}{chance.randrange(24):02}{colon}{chance.randrange(60):02}"


def damaged(chance: random.Random, text: str) -> str:
    if chance.random() < 0.5:
        return text
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(["", chance.choice(SIGNS)]) + text[place + chance.randrange(2) :]


def judged(text: str, notation: str) -> int | None:
    """Return the milliseconds since 1970 that the judge sees."""
    try:
        seconds, nanoseconds = instant_of(text, notation)
    except RefusalError:
        return None
    return seconds * 1000 + nanoseconds // 10**6 if RANGE[0] <= seconds < RANGE[1] else None


def of_python(read: datetime) -> int:
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)


def iso_text(chance: random.Random) -> str:
    text = text_of(chance, chance.choice(DATES))
    if chance.random() < 0.1:
        return text
    time = chance.choice(TIMES)
    text += chance.choice("Tt ") + text_of(chance, time)
    if time.endswith("%S") and chance.random() < 0.5:
        text += chance.choice(".,") + str(chance.randrange(10 ** chance.randrange(1, 12)))
    return text + chance.choice(["", "Z", "z", offset(chance, ":"), offset(chance, ""), offset(chance, "")[:3]])


def test_iso_8601_is_read_as_the_judge_and_python_read_it() -> None:
    chance = random.Random(8601)
    texts = [damaged(chance, iso_text(chance)) for _ in range(TEXTS)]
    found = native.instants(pa.array(texts, pa.string()), "iso8601").to_pylist()
    assert found == [judged(text, "iso8601") for text in texts]
    read = 0
    for text, instant in zip(texts, found, strict=True):
        if instant is None:
            continue
        try:  # Python knows no small z, and no leap seconds
            expected = of_python(datetime.fromisoformat(text.upper()))
        except ValueError:
            assert ":60" in text or re.search(r"60([Z.,+-]|$)", text), text
            continue
        except OverflowError:
            continue
        assert instant == expected, text
        read += 1
    assert read > TEXTS // 3
    assert sum(one is None for one in found) > TEXTS // 10


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_read_as_the_judge_and_python_read_them(pattern: str) -> None:
    chance, notation, form = random.Random(pattern), f"pattern[{pattern}]", PATTERNS[pattern]
    texts = [damaged(chance, text_of(chance, form)) for _ in range(TEXTS // len(PATTERNS))]
    found = native.instants(pa.array(texts, pa.string()), notation).to_pylist()
    assert found == [judged(text, notation) for text in texts]
    for text, instant in zip(texts, found, strict=True):
        if instant is not None:  # Python takes fewer digits, too
            assert instant == of_python(datetime.strptime(text, form)), text  # noqa: DTZ007 - as `of_python` takes it
    assert 0.2 < sum(one is None for one in found) / len(texts) < 0.9


def test_leap_seconds_stay_in_their_day() -> None:
    texts = ["2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00", "2016-12-31T23:59:60+01:00", "2016-12-31T12:00:60Z"]
    found = native.instants(pa.array(texts), "iso8601").to_pylist()
    assert found == [1_483_228_799_000, 1_483_228_799_000, None, None]
    assert found == [judged(text, "iso8601") for text in texts]
