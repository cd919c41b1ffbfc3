"""Which patterns mean the same to Python and to the native parser; what the others are told."""

import pytest

from logpersister.forms.pattern import groups_of, size_of
from logpersister.forms.problems import RefusedError

ACCEPTED = {
    r"(?P<level>[A-Z]+) (?P<message>.*)": ("level", "message"),
    r"^\[(?P<at>[^\]]+)] (?:GET|POST)? ?\{(?P<rest>[^}]*)}$": ("at", "rest"),
    r"(?P<a>x)?(?P<b_2>y{2,3}?|z{4}|w{1,})(no name)": ("a", "b_2"),
    r"[-a-z_\-\d.+*?(){}|^$@][^-\[\]\\][a-]\x41\t\b\.\/\-\ ": (),
    "()": (),
}

REFUSED = {
    "(": "has a ( without a ) at character 1",
    "a)b": "has a ) without a ( at character 2",
    "*": "has nothing before * (write \\* for the character) at character 1",
    "a{x}": "has a { that begins no count such as {2,5} (write \\{ for the character) at character 2",
    "a{,3}": "has a { that begins no count",
    "a*+": "repeats a repetition at character 3",
    "^*": "repeats a place that has no characters, such as ^, at character 2",
    "(?=a)": "has a (? that begins neither (?: nor (?P<name> at character 1",
    "(?<a>x)": "has a (? that begins neither (?: nor (?P<name> at character 1",
    "(?P<1>x)": "has a group without a name of letters, digits and _ at character 5",
    "(?P<a>x)(?P<a>y)": "has the group a a second time at character 13",
    "(?:(?P<a>x))*": "repeats the group a, which can have only one value, at character 1",
    "x(?:a*|b)+": "repeats a group that may match the empty text at character 2",
    "[a": "has a [ without a ], or one of both in it (write \\[ and \\] there) at character 1",
    "[a&&b]": "has one of -- && ~~ || in a class, where engines differ, at character 3",
    "[a-b-c]": "has a - that is not part of a range (write \\- for the character) at character 5",
    "[z-a]": "has at character 2: bad character range z-a",
    r"[\b]": "has \\b, which is not supported, at character 2",
    r"a\1": "has \\1, which is not supported, at character 2",
    r"\pL": "has \\p, which is not supported, at character 1",
    "a\\": "has \\, which is not supported, at character 2",
    "(?:a{1000}){6}": "has 6000 characters and classes, more than 5000",
    "(" * 40 + ")" * 40: "nests more than 32 groups at character 34",
}


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_the_groups_of_a_pattern(pattern: str) -> None:
    assert groups_of(pattern) == ACCEPTED[pattern]


def test_the_size_of_a_pattern_counts_what_is_repeated() -> None:
    assert [size_of(pattern) for pattern in ("", "^ab$", "[a-z]{20}", "(?:ab){3}|c+", "a{2,5}")] == [0, 4, 20, 7, 5]


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_wrong_with_a_pattern_and_where(pattern: str) -> None:
    with pytest.raises(RefusedError) as refused:
        groups_of(pattern)
    assert REFUSED[pattern] in str(refused.value)
