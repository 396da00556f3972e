"""Arrays of labels are looked up like each label alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.task.labels import MOST_CLASSES, has_table
from fsir.task.slicing import Slicing

letters = st.text(st.characters(codec="utf-8"), max_size=6)


@given(st.lists(letters, min_size=1, max_size=MOST_CLASSES + 3, unique=True), st.data())
def test_an_array_is_looked_up_like_each_of_its_labels(classes, data):
    slicing = Slicing(classes=tuple(classes))
    around = st.sampled_from(classes).flatmap(
        lambda label: st.sampled_from([label, label + "x", label[:-1], label.upper()])
    )
    labels = np.array(data.draw(st.lists(st.one_of(around, letters), max_size=30)), dtype=np.str_)
    expected = [slicing.slice_of(label) for label in labels.tolist()]
    assert slicing.slices_of(labels).tolist() == expected
    wide = labels.astype(f"U{labels.dtype.itemsize // 4 + 7}")
    assert slicing.slices_of(wide).tolist() == expected
    assert slicing.slices_of(np.repeat(labels, 2)[::2]).tolist() == expected
    assert slicing.slices_of(labels.astype(labels.dtype.newbyteorder())).tolist() == expected


@pytest.mark.parametrize("count", [1, 2, MOST_CLASSES])
def test_so_many_classes_have_a_table(count):
    classes = tuple(f"class {h}" for h in range(count))
    assert has_table(classes)
    assert Slicing(classes=classes).slices_of(np.array(classes)).tolist() == list(range(count))


@pytest.mark.parametrize(
    "classes", [(), ("a\0", "b"), tuple(map(str, range(MOST_CLASSES + 1)))], ids=["0", "zero", "65"]
)
def test_others_are_looked_up_one_by_one(classes):
    assert not has_table(classes)
