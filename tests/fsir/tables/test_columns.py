"""Which columns become features: each one that does not is named, with the reason."""

from __future__ import annotations

import numpy as np

from fsir.tables.columns import cleaned, column, constants, copies


def numbers(count, missing=()):
    values = [str(k % 7) for k in range(count)]
    for row in missing:
        values[row] = "NA"
    return column(values, list(range(2, count + 2)))


def test_the_first_value_that_is_no_number_is_named_with_its_line():
    lines = [2, 3, 5]  # line 4 is empty
    assert column(["1", "", "warm"], lines).reason == "not numbers: 'warm' on line 5"
    assert column(["1", "inf", "warm"], lines).reason == "not numbers: 'inf' on line 3"
    assert column(["1", " NaN ", "?"], lines).reason is None
    comma = column(["1", "2,5"], lines).reason
    assert comma == "not numbers: '2,5' on line 3 (a decimal comma: write a point)"


def test_of_columns_and_rows_with_gaps_the_fewer_go():
    found = cleaned(
        {"full": numbers(100), "few": numbers(100, [3]), "many": numbers(100, range(6))}
    )
    assert found.names == ["full", "few"]
    assert found.X.shape == (99, 2)
    assert np.flatnonzero(~found.rows).tolist() == [3]
    assert found.reasons == {"many": "missing in 6 of 100 rows"}
    assert found.notes == ("1 rows left out: a value is missing",)


def test_many_columns_with_few_gaps_do_not_take_all_rows():
    columns = {f"x{j}": numbers(100, range(4 * j, 4 * j + 4)) for j in range(10)}
    found = cleaned({"full": numbers(100), **columns})
    assert len(found.X) == 80
    assert len(found.names) == 1 + 5
    assert all(reason == "missing in 4 of 100 rows" for reason in found.reasons.values())


def test_nothing_is_left_where_nothing_is_a_number():
    found = cleaned({"word": column(["a", "b"], [2, 3])})
    assert found.names == []
    assert list(found.reasons) == ["word"]


def test_constants_and_copies_in_any_unit_are_found_and_near_copies_are_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    near = x + 1e-4 * rng.normal(size=300)
    X = np.column_stack([np.full(300, 4.5), x, near, 32.0 - 1.8 * x, x, rng.normal(size=300)])
    names = ["still", "celsius", "near", "fahrenheit", "again", "other"]
    assert constants(names, X) == {"still": "constant: always 4.5"}
    found = copies(names[1:], X[:, 1:])
    assert list(found) == ["fahrenheit", "again"]
    assert all("exact copy of celsius" in reason for reason in found.values())
    assert all("exact copies make directions meaningless" in reason for reason in found.values())


def test_copies_are_found_however_many_columns_there_are():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 1200))
    X[:, 1100] = -3.0 * X[:, 7]
    assert list(copies([f"x{j}" for j in range(1200)], X)) == ["x1100"]
