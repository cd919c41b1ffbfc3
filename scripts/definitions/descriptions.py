"""Docstrings of fields, which describe them in the CRD and in docs/manifest.md: read only when these are written.

Pydantic's ``use_attribute_docstrings`` reads and parses the source of each model at each start of each program.
"""

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


def field_docstrings(cls: type) -> Mapping[str, str | None]:
    """Return the docstrings of the fields of a model or dataclass.

    A field that a subclass declares once more has the docstring that stands there, if any.
    """
    docstrings: dict[str, str | None] = {}
    for one in reversed(cls.__mro__):
        if one not in (BaseModel, object):
            docstrings |= _docstrings(one)
    return docstrings


def field_descriptions(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the descriptions of a model's fields by their aliases, as JSON has them."""
    docstrings = field_docstrings(model)
    return {
        field.alias or name: text
        for name, field in model.model_fields.items()
        if field.description is None and (text := docstrings[name]) is not None
    }


@cache
def _docstrings(model: type) -> Mapping[str, str | None]:
    """Return the docstrings of what is annotated in the body of a class; None: there is none."""
    body = _classes(model.__module__)[model.__qualname__].body
    return {
        statement.target.id: _text(following)
        for statement, following in pairwise([*body, ast.Pass()])
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """Return the classes of a module, parsed once: `inspect.getsource` of a class parses all of it each time."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {statement.name: statement for statement in source.body if isinstance(statement, ast.ClassDef)}


def _text(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(ast.Constant(str(text))):
            return inspect.cleandoc(text)
        case _:
            return None
