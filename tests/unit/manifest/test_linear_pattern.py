"""Patterns of types mean what they mean to Python, and take linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.forms.linear_pattern import Patterns, check_linear
from logpersister.forms.problems import RefusedError
from tests.unit.manifest.test_pattern import ACCEPTED

PATTERNS = [*ACCEPTED, "^audit[.]", r"\bV[0-9]+$", r"^\w+[.]\D*\S$", "(a|b)c{2,3}?", "x|y", r"[\d_]\s"]


@given(st.sampled_from(PATTERNS), st.text("abcVxyz019_.- \t{}[]äöü", max_size=12))
def test_a_pattern_means_what_it_means_to_python(pattern: str, text: str) -> None:
    check_linear(pattern)
    found = Patterns.of([pattern]).first(text) is not None
    assert found == (re.search(pattern, text, re.ASCII) is not None)


def test_a_pattern_that_takes_python_hours() -> None:
    assert Patterns.of(["^(a+)+$", "a*a*a*a*a*a*a*a*b$"]).first("a" * 99 + "!") is None


def test_patterns_that_are_too_large_as_one_are_searched_one_by_one() -> None:
    patterns = Patterns.of([f"^{number}[^x]{{2000}}" for number in range(100)])
    assert patterns.any is None
    assert (patterns.first("7" + "y" * 2000), patterns.first("7")) == (7, None)


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(?i)a", "a**"])
def test_what_cannot_be_found_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(RefusedError, match="is not a pattern: it"):
        check_linear(pattern)
