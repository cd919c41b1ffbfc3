"""Problems of a manifest, each on one line with its remedy, and never with a secret.

Each problem names where it is, what was found there, what was expected and what to do::

    clicks.yaml:21: spec.upload.maxBytes: "12 parsecs" is not a size; write for example 256Mi (Kubernetes quantity)
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

PathStep = str | int
LineOf = Callable[[Sequence[PathStep]], int | None]
KnownFields = Callable[[Sequence[PathStep]], Sequence[str]]

_SENSITIVE = re.compile(r"secret|password|passwd|token|credential|private|access.?key|security", re.IGNORECASE)
_SENSITIVE_BUT_HARMLESS = frozenset({"protocol", "mechanism", "verifyHostname"})
_LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, as one line."""

    path: str
    """Where in the manifest: ``spec.overrides[0].upload.maxAge``; empty for the document as a whole."""
    expectation: str
    """What is wrong with what was found: ``is not a size``."""
    remedy: str
    """What to do: ``write for example 256Mi (Kubernetes quantity)``."""
    found: str | None = None
    """The offending value as JSON; None when it says nothing, or when it could be a secret."""
    line: int | None = None
    """Line of the YAML file, from 1."""

    def __str__(self) -> str:
        statement = self.expectation if self.found is None else f"{self.found} {self.expectation}"
        return f"{self.path}: {statement}; {self.remedy}" if self.path else f"{statement}; {self.remedy}"


class ManifestError(Exception):
    """A manifest that cannot be used, with every problem that was found."""

    def __init__(self, problems: Iterable[Problem], source: str | None = None) -> None:
        self.problems = list(problems)
        self.source = source
        """The file, as the user named it."""
        super().__init__(str(self))

    def __str__(self) -> str:
        return "\n".join(self._line(problem) for problem in self.problems)

    def __reduce__(self) -> tuple[type["ManifestError"], tuple[list[Problem], str | None]]:
        return type(self), (self.problems, self.source)

    def _line(self, problem: Problem) -> str:
        if self.source is None:
            return str(problem)
        return f"{self.source}: {problem}" if problem.line is None else f"{self.source}:{problem.line}: {problem}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule of the model says about the value that it looks at, or about a field below it."""

    expectation: str
    remedy: str
    at: tuple[PathStep, ...] = ()
    """The field below, as YAML has it: ``("overrides", 0, "maxAge")``; empty for the value itself."""
    found: str | None = None
    """The value of that field when it helps and cannot be a secret; for the value itself `problems_of` adds it."""


class RefusedError(ValueError):
    """Raised by parsers and by validators of the model; pydantic carries it to `problems_of`."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__("; ".join(f"{finding.expectation}; {finding.remedy}" for finding in findings))
        self.findings = findings


def out_of_bounds(least: object, most: object) -> tuple[str, str]:
    """Return what is wrong with a value outside of inclusive bounds, and the remedy."""
    return f"is not within {least} to {most}", f"write a value from {least} to {most}"


def refuse(expectation: str, remedy: str, *at: PathStep) -> RefusedError:
    """Make the exception for one finding; ``at`` is the field below the value, if it is about one."""
    return RefusedError(Finding(expectation, remedy, at))


def refuse_all(findings: Sequence[Finding]) -> None:
    """Raise when a cross-field rule found anything."""
    if findings:
        raise RefusedError(*findings)


def path_text(steps: Sequence[PathStep]) -> str:
    """``("spec", "topics", 0)`` is ``spec.topics[0]``; a key with a dot in it is ``conf["spark.x"]``."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif "." in step:
            text += f"[{json.dumps(step)}]"
        else:
            text += f".{step}" if text else step
    return text


def some_of(names: Sequence[str], most: int = 10) -> str:
    """Return the first names as a message lists them, and how many more there are."""
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def show(value: object, steps: Sequence[PathStep] = ()) -> str | None:
    """Return a value as a message may quote it: short, on one line; None when it may hold a secret.

    Mappings and lists are never quoted (their inside is not known), nor what may be an address with a password in it.
    """
    if any(_is_sensitive(step) for step in steps) or (isinstance(value, str) and "@" in value):
        return None
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…{text[-1]}"


def _is_sensitive(step: PathStep) -> bool:
    return isinstance(step, str) and _SENSITIVE.search(step) is not None


_KEY = "[key]"
"""How pydantic marks what is wrong with a key of a mapping, as the last step."""


def problems_of(
    errors: Iterable[Any],
    known_fields: KnownFields,
    line_of: LineOf = lambda _: None,
) -> list[Problem]:
    """Translate pydantic's errors (``ValidationError.errors()``) into problems, in the order of the file.

    ``known_fields`` returns the fields that exist in the mapping at a path, to suggest a name for an unknown one.
    """
    errors = list(errors)
    problems: list[Problem] = []
    for error in errors:
        steps: tuple[PathStep, ...] = error["loc"]
        if _is_consequence(error, errors):
            continue
        is_key = steps[-1:] == (_KEY,)
        steps = steps[:-1] if is_key else steps
        refused = error.get("ctx", {}).get("error")
        if isinstance(refused, RefusedError):
            for finding in refused.findings:
                problem = _problem_of_finding(finding, steps, None if is_key else error["input"])
                problems.append(replace(problem, line=line_of((*steps, *finding.at))))
        else:
            problems.append(replace(_problem_of_builtin(error, steps, known_fields), line=line_of(steps)))
    return sorted(problems, key=lambda problem: problem.line or 0)


def _is_consequence(error: Any, errors: Sequence[Any]) -> bool:
    """Whether an error only follows from another: a default that needs a bad field, a list short of bad entries."""
    if error["type"] == "too_short":
        place = error["loc"]
        return any(other["loc"][: len(place)] == place for other in errors if other is not error)
    return bool(error["type"] == "default_factory_not_called")


def _problem_of_finding(finding: Finding, steps: tuple[PathStep, ...], value: object) -> Problem:
    found = finding.found
    if found is None and not finding.at and value is not None and not isinstance(value, dict):
        found = show(value, _steps_to_judge(steps))
    return Problem(path_text((*steps, *finding.at)), finding.expectation, finding.remedy, found)


def _steps_to_judge(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """Nothing of ``security`` is quoted, except what can be only one of a few words."""
    return () if steps and steps[-1] in _SENSITIVE_BUT_HARMLESS else steps


def _problem_of_builtin(error: Any, steps: tuple[PathStep, ...], known_fields: KnownFields) -> Problem:
    kind: str = error["type"]
    if error["loc"][-1:] == (_KEY,):
        steps, kind = steps[:-1], "invalid_key"
    problem = Problem(path_text(steps), "", "", show(error["input"], _steps_to_judge(steps)))
    if kind == "extra_forbidden":
        return _unknown_field(problem, steps, known_fields)
    prefix = next((prefix for prefix in _WORDINGS if kind.startswith(prefix)), None)
    if prefix is None:
        return replace(problem, found=None, expectation=f"is not valid ({kind})", remedy="see docs/manifest.md")
    expectation, remedy = _WORDINGS[prefix]
    context = {key: str(value) for key, value in error.get("ctx", {}).items()}
    if kind == "literal_error":
        context["expected"] = context["expected"].replace("'", "").replace(" or ", ", ")
    found = None if kind in _WITHOUT_VALUE else problem.found
    return replace(problem, found=found, expectation=expectation.format(**context), remedy=remedy.format(**context))


_WORDINGS = {
    "missing": ("is missing", "it has no default, so set it"),
    "literal_error": ("is not allowed here", "write one of: {expected}"),
    "too_short": ("has {actual_length} entries", "give at least {min_length}"),
    "too_long": ("has {actual_length} entries", "give at most {max_length}"),
    "invalid_key": ("is a name that is not text", "put the name in quotes"),
    "int_": ("is not a whole number", "write it in digits, without quotes"),
    "bool_": ("is neither true nor false", "write true or false, without quotes"),
    "string_": ("is not text", "put it in quotes, or begin a block of text with |"),
    "model_": ("is not a mapping", "write its fields below it, as `name: value` lines"),
    "dict_": ("is not a mapping", "write its entries below it, as `name: value` lines"),
    "tuple_": ("is not a list", "write [a, b], or one `- entry` line each"),
}
"""What is said for the error types of pydantic that begin so."""

_WITHOUT_VALUE = frozenset({"missing", "too_short", "too_long"})


def unknown_field(steps: tuple[PathStep, ...], known: Sequence[str], line: int | None) -> Problem:
    """Return the problem of a field that does not exist where it is, with the field that was probably meant."""
    return replace(_unknown_field(Problem(path_text(steps), "", ""), steps, lambda _: known), line=line)


def _unknown_field(problem: Problem, steps: tuple[PathStep, ...], known_fields: KnownFields) -> Problem:
    name = str(steps[-1])
    known = known_fields(steps[:-1])
    by_fold = {other.lower(): other for other in known}
    close = get_close_matches(name.lower().replace("_", ""), by_fold, n=1, cutoff=0.75)
    if close:
        remedy = f"did you mean {by_fold[close[0]]}?"
    elif _is_sensitive(name) and name != "security":
        remedy = "secrets do not belong in a manifest: put it in the Secret that secretName names (docs/manifest.md)"
    else:
        remedy = f"known here: {', '.join(known)}" if known else "remove it"
    # Never the value: a misplaced field is where a password would be.
    return replace(problem, found=None, expectation="is an unknown field", remedy=remedy)
