"""``${NAME}`` and ``${NAME:-default}`` in the values of a manifest. Only the command line does that, never a pod.

Values are replaced in the parsed document, not in its text: what a variable holds stays one value, whatever is in it,
and comments are left alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import yaml

from logpersister.forms.problems import PathStep, Problem, path_text

Variables = Mapping[str, str]
SWITCH: Final = "LOGPERSISTER_SUBSTITUTE"
"""Environment variable: with ``no`` nothing is replaced."""
Resolve = Callable[[str], str]
"""Returns the YAML tag of a value that stands without quotes."""

_REFERENCE: Final = re.compile(
    r"\$(?P<escaped>\$\{)|(?P<secret>\$\{secret:[^}]*\})|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|\$\{"
)
_LITERAL: Final = "write $${ where the text ${ itself is meant"


def substitute(root: yaml.Node, variables: Variables, resolve: Resolve) -> list[Problem]:
    """Replace all references in place; return what is wrong with some, by name and line. Names of fields stay.

    A value without quotes gets the type that it would have if it stood there: ``members: ${N}`` is a number.
    """
    problems: list[Problem] = []
    for node, steps in list(_scalars(root)):
        if "${" not in node.value:
            continue
        line = node.start_mark.line + 1
        value, wrong = _replaced(node.value, variables)
        problems += [Problem(path_text(steps), expectation, remedy, line=line) for expectation, remedy in wrong]
        node.value = value
        if node.style is None:
            node.tag = resolve(value)
    return problems


def _replaced(text: str, variables: Variables) -> tuple[str, list[tuple[str, str]]]:
    """Return the text without references, and for each that is wrong what that is and the remedy."""
    wrong: list[tuple[str, str]] = []

    def replacement(found: "re.Match[str]") -> str:
        if found["escaped"] is not None:
            return "${"
        if found["secret"] is not None:  # where a manifest may have it, whoever needs the secret resolves it
            return str(found["secret"])
        name, default = found["name"], found["default"]
        if name is None:
            wrong.append(("has a ${ that begins no ${NAME} or ${NAME:-default}", f"correct it; {_LITERAL}"))
            return ""
        value = variables.get(name)
        if value is None and default is None:
            remedy = f"set it, or give a default: ${{{name}:-default}}; {_LITERAL}"
            wrong.append((f"names the variable {name}, which is not set", remedy))
        return value or default or ""

    return _REFERENCE.sub(replacement, text), wrong


def _scalars(root: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, tuple[PathStep, ...]]]:
    """Yield each scalar value once, also where an alias repeats it, in the order of the file."""
    seen: set[int] = set()
    stack: list[tuple[yaml.Node, tuple[PathStep, ...]]] = [(root, ())]
    while stack:
        node, steps = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield node, steps
        elif isinstance(node, yaml.SequenceNode):
            stack += [(entry, (*steps, index)) for index, entry in reversed(list(enumerate(node.value)))]
        elif isinstance(node, yaml.MappingNode):
            stack += [(value, (*steps, str(key.value))) for key, value in reversed(node.value)]
