"""Reads pages as a strict reader would: what is opened is closed, and nothing comes from elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, tag: str) -> list["Element"]:
        """Return the elements below with a tag, in the order of the page."""
        return [one for one in self.walk() if one.tag == tag]

    def walk(self) -> Iterator["Element"]:
        for one in self.children:
            yield one
            yield from one.walk()

    def words(self) -> str:
        return " ".join(" ".join([self.text, *(one.words() for one in self.children)]).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> says an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data


def read(text: str) -> Element:
    """Return the root of a page that is well formed and stands alone, with landmarks, titles and headers of tables."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root], "something is not closed"
    root = reader.root
    everything = list(root.walk())
    assert not {"script", "iframe", "form", "object", "link", "img"} & {one.tag for one in everything}
    for one in everything:
        assert not any(name.startswith("on") or name in {"style", "src"} for name in one.attributes), one.tag
        assert not one.attributes.get("href", "").partition("?")[0].startswith(("http", "/", "javascript")), one
    assert [one.attributes for one in root.all("html")] == [{"lang": "en"}]
    assert root.all("title")[0].text
    assert [len(root.all(tag)) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
    ids = [one.attributes["id"] for one in everything if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    for drawing in root.all("svg"):
        assert drawing.attributes["role"] == "img"
        assert set(drawing.attributes["aria-labelledby"].split()) <= set(ids)
        assert drawing.all("title")[0].text
        assert drawing.all("desc")[0].text
    for table in root.all("table"):
        assert {one.attributes.get("scope") for one in table.all("th")} == {"col", "row"}
        columns = len(table.all("thead")[0].all("th"))
        assert all(len(row.children) == columns for row in table.all("tr"))
    return root
