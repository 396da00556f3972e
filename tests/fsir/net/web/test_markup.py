"""HTML that cannot be broken out of."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from fsir.net.web.markup import Markup, tag


class Reader(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data):
        self.text += data


HOSTILE = st.text() | st.sampled_from(
    ['"><script>alert(1)</script>', "' onclick='x", "</p>", "&lt;", "<!--", "\x00", "]]>"]
)


@given(HOSTILE, HOSTILE)
def test_whatever_is_put_in_comes_out_as_text(words, value):
    read = Reader(tag("p", words, title=value))
    assert [name for name, _ in read.tags] == ["p"]
    assert read.tags[0][1] == {"title": value}
    assert read.text == words


def test_elements_within_elements_stay_elements():
    inner = tag("b", "a & b")
    assert tag("p", inner, None, " <") == "<p><b>a &amp; b</b> &lt;</p>"
    assert isinstance(inner, Markup)


def test_attributes_that_are_false_are_left_out():
    assert tag("input", hidden=True, disabled=False, value=None) == "<input hidden>"
