"""Fields of tables: read or refused by name."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import TaskError
from fsir.fields import Table

READERS = {
    "text": lambda table: table.text("field"),
    "texts": lambda table: table.texts("field", at_most=3),
    "choice": lambda table: table.choice("field", "a", ("a", "b")),
    "flag": lambda table: table.flag("field", False),
    "whole": lambda table: table.whole("field", low=1, high=9),
    "number": lambda table: table.number("field", above=0, to=9),
    "numbers": lambda table: table.numbers("field", 0.0, 2),
    "instant": lambda table: table.optional_instant("field"),
    "section": lambda table: table.section("field").get("inner", 0),
}
plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.binary(max_size=9)
)
dates = st.one_of(st.dates(), st.datetimes(), st.datetimes(timezones=st.just(UTC)))
anything = st.one_of(
    plain,
    dates,
    st.lists(plain, max_size=3),
    st.dictionaries(st.text(max_size=3), plain, max_size=2),
)


@given(st.sampled_from(sorted(READERS)), anything)
def test_any_value_is_read_or_refused_by_name(reader, value):
    try:
        READERS[reader](Table({"field": value}, "part"))
        fault = None
    except TaskError as error:
        fault = error
    if fault is not None:
        assert fault.field == "part.field"
        assert str(fault).startswith("part.field = ")
        assert fault.remedy
        assert len(str(fault)) < 600


WRONG = {
    "text": ["", "a\nb", "a" * 201, 3],
    "texts": ["abc", ["a"] * 4, ["a", 1]],
    "choice": ["c", ["a"]],
    "flag": [1, "true"],
    "whole": [True, 1.0, 0, 10],
    "number": [True, "1", 0, 9.1, math.nan, math.inf, 10**400],
    "numbers": [[1.0], [1.0, 2.0, 3.0], [1.0, math.nan], "12"],
    "instant": [
        datetime(2026, 1, 1),
        date(2026, 1, 1),
        -5,
        2**41,
        True,
        datetime(1969, 1, 1, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    ],
    "section": [3],
}


@pytest.mark.parametrize(
    ("reader", "value"), [(reader, value) for reader, values in WRONG.items() for value in values]
)
def test_wrong_values_are_refused(reader, value):
    with pytest.raises(TaskError):
        READERS[reader](Table({"field": value}, ""))


def test_right_values_are_read():
    table = Table(
        {
            "text": "a",
            "texts": ["a", "b"],
            "whole": 3,
            "number": 3,
            "least": 0,
            "all": 2,
            "flag": True,
        },
        "",
    )
    assert table.text("text") == "a"
    assert table.texts("texts", at_most=2) == ("a", "b")
    assert table.whole("whole") == 3
    assert isinstance(table.number("number"), float)
    assert table.number("least", least=0) == 0.0
    assert table.numbers("all", 0.0, 3) == (2.0, 2.0, 2.0)  # one number stands for all
    assert table.flag("flag", False) is True
    table.done()


def test_defaults_stand_in_for_missing_fields():
    table = Table({}, "")
    assert table.optional_whole("a", low=0, high=9) is None
    assert table.optional_number("a") is None
    assert table.optional_instant("a") is None
    assert table.choice("a", "x", ("x", "y")) == "x"
    assert table.section("a").get("b", 1) == 1
    with pytest.raises(TaskError, match="c = None: is missing; add it"):
        table.get("c")


def test_a_missing_field_is_looked_for_among_those_that_nobody_has_read():
    with pytest.raises(TaskError) as missed:
        Table({"epsilom": 1.0}, "privacy").number("epsilon")
    said = "privacy.epsilon = None: is missing; did you mean it by 'privacy.epsilom'?"
    assert str(missed.value) == said
    table = Table({"privcy": {"epsilon": 1.0}}, "")
    with pytest.raises(TaskError) as missed:
        table.section("privacy").number("epsilon")
    assert str(missed.value) == "privacy.epsilon = None: is missing; did you mean it by [privcy]?"


def test_minus_zero_is_zero():
    assert math.copysign(1.0, Table({"x": -0.0}, "").number("x")) == 1.0
    assert math.copysign(1.0, Table({"x": [-0.0]}, "").numbers("x", 0.0, 1)[0]) == 1.0


def test_a_date_and_its_seconds_are_the_same_instant():
    date_and_zone = datetime(2026, 12, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    for value in (date_and_zone, 1796083200):
        assert Table({"x": value}, "").optional_instant("x") == 1796083200


def test_unknown_fields_are_refused_with_a_hint():
    table = Table({"epsilom": 1.0}, "privacy")
    table.number("epsilon", 1.0)
    hint = r"privacy.epsilom = 1.0: unknown field; did you mean 'epsilon'\?"
    with pytest.raises(TaskError, match=hint):
        table.done()
    # ... also of a section that nobody has written, and of the section where it belongs.
    top = Table({"epsilon": 1.0}, "")
    top.section("privacy").number("epsilon", 1.0)
    with pytest.raises(TaskError, match=r"epsilon = 1.0: .* did you mean 'privacy.epsilon'\?"):
        top.done()
    top = Table({"screning": {}}, "")
    assert not top.has("screening")
    with pytest.raises(TaskError, match=r"did you mean 'screening'\?"):
        top.done()
    other = Table({"zzz": 1.0}, "")
    other.get("epsilon", 1)
    with pytest.raises(TaskError, match="known fields: epsilon"):
        other.done()


def test_a_field_can_be_read_once():
    table = Table({"a": 1}, "")
    assert table.has("a")
    assert table.whole("a") == 1
    assert not table.has("a")
    with pytest.raises(TaskError, match="missing"):
        table.whole("a")


def test_a_hostile_value_is_quoted_briefly():
    deep = []
    for _ in range(5000):
        deep = [deep]
    for value in (
        deep,
        "x" * 10**6,
        b"x" * 10**6,
        list(range(10**5)),
        {str(i): i for i in range(1000)},
    ):
        assert len(str(TaskError("field", value, "remedy"))) < 600
