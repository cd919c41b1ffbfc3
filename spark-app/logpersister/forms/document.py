"""YAML text as a document whose values know their lines.

Scalars are resolved as in YAML 1.2 (JSON's true, false, null and numbers): a time stays text, ``on`` is not a boolean,
``1:30`` is not ninety. What another YAML reader would take in another way, we refuse or take as text.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from logpersister.forms.problems import ManifestError, PathStep, Problem, path_text
from logpersister.forms.substitution import Variables, substitute

MOST_NODES = 100_000
"""Nodes after aliases are replaced by what they refer to: a manifest has hundreds."""
_MOST_DIGITS = 1_000


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (as the base class declares it)

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Return a scalar; of a character that is escaped as in JSON, in two halves, both together are one."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        try:
            node.value = node.value.encode("utf-16", errors="surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            problem = "it has half a character (one of \\ud800 to \\udfff alone)"
            raise yaml.composer.ComposerError(None, None, problem, node.start_mark) from None
        return node


for _tag, _pattern, _first in [
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
]:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def _whole_number(loader: _Loader, node: yaml.ScalarNode) -> int | str:
    """Return a number; one of more digits than Python reads stays text, which the rule of its field then refuses."""
    text: str = loader.construct_scalar(node)
    return int(text) if len(text) <= _MOST_DIGITS else text


_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


class Document:
    """A parsed document: its value, and the line of each part."""

    def __init__(self, value: Any, root: yaml.Node) -> None:
        self.value = value
        self._root = root

    def line_of(self, steps: Sequence[PathStep]) -> int | None:
        """Return the line, from 1, of the value at a path, or of the nearest thing around it that exists."""
        node = self._root
        line: int = node.start_mark.line + 1
        for step in steps:
            below = _child(node, step)
            if below is None:
                break
            line, node = below
        return line


def read(
    content: str | bytes, source: str | None = None, variables: Variables | None = None, most: int = MOST_NODES
) -> Document:
    """Parse exactly one YAML document; raise `ManifestError` with the line of what is wrong.

    With `variables`, references to them such as ``${NAME}`` are replaced. Documents of more than `most` values, counted
    without aliases, are refused.
    """
    try:
        nodes = [node for node in yaml.compose_all(content, Loader=_Loader) if not _is_empty(node)]
        if len(nodes) != 1:
            raise ManifestError([_not_one_document(nodes)], source)
        problems = list(_structure_problems(nodes[0], most))
        if not problems and variables is not None:
            problems = substitute(nodes[0], variables, _tag_of)
        if problems:
            raise ManifestError(problems, source)
        return Document(_construct(nodes[0]), nodes[0])
    except yaml.YAMLError as error:
        problem = _yaml_problem(error)
    except RecursionError:
        problem = Problem("", "is nested too deeply", "write a manifest as in examples/")
    raise ManifestError([problem], source)


def _tag_of(text: str) -> str:
    loader = _Loader("")
    try:
        tag: str = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        return tag
    finally:
        loader.dispose()


def _construct(node: yaml.Node) -> Any:
    loader = _Loader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _is_empty(node: yaml.Node) -> bool:
    """What stands after a last ``---``, or a document of comments."""
    return isinstance(node, yaml.ScalarNode) and node.value == "" and node.style is None


def _not_one_document(nodes: list[yaml.Node]) -> Problem:
    if not nodes:
        return Problem("", "is empty", "begin with apiVersion, kind, metadata and spec")
    line = nodes[1].start_mark.line + 1
    return Problem("", f"has {len(nodes)} documents", "put each in a file of its own", line=line)


def _yaml_problem(error: yaml.YAMLError) -> Problem:
    """Say what the parser says, but without its excerpt of the text, which could hold a secret."""
    remedy = "correct the YAML (mind indentation and quotes)"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        context = f" {error.context}" if error.context else ""
        if isinstance(error, yaml.constructor.ConstructorError):
            return Problem("", "has a tag or key that a manifest cannot have", remedy, line=mark.line + 1)
        return Problem(
            "", f"is not YAML: column {mark.column + 1}:{context} {error.problem}", remedy, line=mark.line + 1
        )
    if isinstance(error, yaml.reader.ReaderError):
        return Problem("", "is not YAML: it has bytes that are not text", "save the file as UTF-8")
    return Problem("", "is not YAML", remedy)


def _structure_problems(root: yaml.Node, most: int) -> Iterator[Problem]:
    """Yield what YAML allows and a manifest must not have: a key twice, a value inside itself, aliases without end."""
    seen = 0
    # Depth first, with the path and the nodes above each node.
    stack: list[tuple[yaml.Node, tuple[PathStep, ...], frozenset[int]]] = [(root, (), frozenset())]
    while stack:
        node, steps, above = stack.pop()
        seen += 1
        line = node.start_mark.line + 1
        if seen > most:
            yield Problem(
                "", "has too many values, or aliases that multiply", "write a manifest as in examples/", line=line
            )
            return
        if id(node) in above:
            yield Problem(path_text(steps), "contains itself", "remove the alias", line=line)
            return
        inside = above | {id(node)}
        if isinstance(node, yaml.SequenceNode):
            stack += [(entry, (*steps, index), inside) for index, entry in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            yield from _repeated_keys(node, steps)
            stack += [(value, (*steps, str(key.value)), inside) for key, value in node.value]


def _repeated_keys(node: yaml.MappingNode, steps: tuple[PathStep, ...]) -> Iterator[Problem]:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        line = key.start_mark.line + 1
        first = lines.setdefault((key.tag, key.value), line)
        if first != line or key is not next(other for other, _ in node.value if other.value == key.value):
            path = path_text((*steps, key.value))
            yield Problem(path, f"is set twice (first on line {first})", "remove one of them", line=line)


def _child(node: yaml.Node, step: PathStep) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        entry = node.value[step]
        return entry.start_mark.line + 1, entry
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return key.start_mark.line + 1, value
    return None
