"""What a message says under a template, and every mistake in one is named."""

from __future__ import annotations

import pytest

from edge_agent.errors import SourceError
from edge_agent.sources.home.template import LONGEST_TEXT, MISSING, Value, load_template
from tests.edge_agent.sources.home.homes import template

# As their projects document them.
Z2M_CLIMATE = b'{"temperature": 27.34, "humidity": 44.72}'
Z2M_MOTION = b'{"occupancy": true}'
Z2M_BULB = b'{"state": "ON", "brightness": 215, "color_temp": 325}'
TASMOTA = (
    b'{"Time":"2019-01-01T00:00:00","AM2301":{"Temperature":24.6,"Humidity":58.2},"TempUnit":"C"}'
)


def value(**changes):
    given = {"name": "x", "topic": "t", "path": None, "words": {}, "holds": 1}
    return Value(**(given | changes))


@pytest.mark.parametrize(
    ("path", "words", "payload", "expected"),
    [
        ("temperature", {}, Z2M_CLIMATE, 27.34),
        ("humidity", {}, Z2M_CLIMATE, 44.72),
        ("occupancy", {}, Z2M_MOTION, True),
        ("occupancy", {"true": 1, "false": 0}, Z2M_MOTION, 1),
        ("state", {"ON": 1, "OFF": 0}, Z2M_BULB, 1),
        ("brightness", {}, Z2M_BULB, 215),
        ("temperature", {}, Z2M_BULB, MISSING),
        ("AM2301.Temperature", {}, TASMOTA, 24.6),
        ("AM2301.Humidity", {}, TASMOTA, 58.2),
        ("Time", {}, TASMOTA, "2019-01-01T00:00:00"),
        ("temperature", {}, b'{"temperature": null}', None),
        ("temperature", {}, b"not JSON", MISSING),
        # Home Assistant: the state as text, attributes as JSON
        (None, {}, b"21.5", 21.5),
        (None, {}, b" -3\n", -3),
        (None, {"on": 1, "off": 0}, b"on", 1),
        (None, {"on": 1, "off": 0}, b"unavailable", None),
        (None, {}, b"unavailable", "unavailable"),
        (None, {}, b"cooking", "cooking"),
        (None, {}, b'"cooking"', "cooking"),
        (None, {"cooking": "busy"}, b'"cooking"', "busy"),
        (None, {"1": "one"}, b"1", "one"),
        (None, {}, b"true", True),
        (None, {}, b"", None),
        (None, {}, b"\xff\xfe", "\ufffd\ufffd"),
        (None, {}, b"x" * (LONGEST_TEXT + 1), None),
        (None, {}, b"[1, 2]", "[1, 2]"),
    ],
)
def test_what_a_message_says(path, words, payload, expected):
    assert value(path=path, words=words).read(payload) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "every = None: is missing"),
        ("every = 0.5", "every = 0.5: must be a whole number"),
        ("every = 60", "values = {}: must name at least one: [values.NAME] with its topic"),
        ("every = 60\n[values.a]", "values.a.topic = None: is missing"),
        ('every = 60\n[values.a]\ntopic = "home/+"', "must be one topic, without + and #"),
        ('every = 60\nmax_age = 59\n[values.a]\ntopic = "t"', "max_age = 59: must be at least 60"),
        ('every = 1\nmax_age = 1e9\n[values.a]\ntopic = "t"', "at most 10000"),
        ('every = 60\n[values.a]\ntopic = "t"\nword = {on = 1}', "did you mean 'words'?"),
        ('every = 60\n[values.a]\ntopic = "t"\nwords = "on"', "a table such as { on = 1"),
        ('every = 60\n[values.a]\ntopic = "t"\nwords = {on = true}', "a number or a text"),
        ('every = 60\n[values.a]\ntopic = "t"\notherwise = []', "a number or a text"),
        ("every = ", "not valid TOML"),
        ('every = 60\nval.a.topic = "t"\nvalues.a.topic = "t"', "val = {'a': {'topic': 't'}}"),
    ],
)
def test_mistakes_are_named(tmp_path, text, fault):
    with pytest.raises(SourceError) as raised:
        load_template(template(tmp_path, text))
    assert fault in str(raised.value)
    assert str(raised.value).startswith(f"template {tmp_path}/home.toml: ")


def test_a_template_that_is_not_there(tmp_path):
    with pytest.raises(SourceError, match="No such file or directory; give the path of a TOML"):
        load_template(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("every", "max_age", "unit"),
    [
        (60, None, 1),
        (60, 60, 1),
        (60, 119.9, 1),
        (60, 120, 2),
        (300, 3600, 12),
        (1, 10_000, 10_000),
    ],
)
def test_how_many_records_a_message_can_touch(tmp_path, every, max_age, unit):
    """It is never older than it may be, and without an age it is in one record."""
    age = "" if max_age is None else f"max_age = {max_age}"
    path = template(
        tmp_path,
        f"""
        every = {every}
        [values.short]
        topic = "a"
        [values.long]
        topic = "b"
        {age}
        """,
    )
    read = load_template(path)
    assert read.unit_records == unit
    assert [value.holds for value in read.values] == [1, unit]
    assert read.topics == ["a", "b"]
