"""The tables of types in docs/schemas.md say what the product does with a sample of each type."""

from pathlib import Path

from tests.type_mappings.page import with_tables

PAGE = Path(__file__).parents[2] / "docs" / "schemas.md"


def test_the_tables_are_what_the_product_does() -> None:
    page = PAGE.read_text()
    assert page.count("<!-- types ") == 2
    assert page == with_tables(page), "python -m tests.type_mappings docs/schemas.md"
