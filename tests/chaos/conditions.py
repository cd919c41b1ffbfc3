"""Conditions of `spec.keep`, each as the manifest has it and once more in Python, which is what is believed."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

HEADER: Final = "env"
TEST: Final = b"test"
_MOST = Decimal("60000.00")
_SHOPS = ("shop-1", "shop-4", "shop-9", "shop-16")
_USERS = ("user 1", "user 4", "user 9", "user 16")
_CLICKED = ("Köln/1 a", "Köln/2 a", "Köln/25 a")

Conditions = Sequence[Mapping[str, Any]]
OF_HEADERS: Conditions = ({"header": HEADER, "notIn": [TEST.decode()], "orAbsent": True},)
OF_SALES: Conditions = (
    {"field": "price", "below": str(_MOST), "orAbsent": True},
    {"field": "shop", "notIn": list(_SHOPS), "orAbsent": True},
)
OF_CLICKS: Conditions = (
    {"field": "user", "notIn": list(_USERS), "orAbsent": True},
    {"field": "shop", "notIn": list(_CLICKED), "orAbsent": True},
)


def keep_headers(headers: Sequence[tuple[str, bytes]]) -> bool:
    """Whether a record is looked at, by the last of its headers of the name."""
    return [content for name, content in headers if name == HEADER][-1:] != [TEST]


def keep_sale(row: Mapping[str, Any]) -> bool:
    return row["price"] < _MOST and row["shop"] not in _SHOPS


def keep_click(row: Mapping[str, Any]) -> bool:
    return row["user"] not in _USERS and row["shop"] not in _CLICKED
