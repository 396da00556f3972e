"""A part of a packed vector holds the values of that part, and says if they cannot be had."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fsir.errors import MessageError
from fsir.wire.packing.codec import pack, unpack, unpack_known
from fsir.wire.packing.part import WHOLE_BYTES, part, part_sizes
from tests.fsir.wire.packing.test_codec import arrays, blocks


def joined(found):
    return np.concatenate(found).tolist()


@given(lists=blocks, data=st.data())
def test_a_part_has_the_values_that_stand_there(lists, data):
    values = [value for block in lists for value in block]
    assume(values)
    start = WHOLE_BYTES * data.draw(st.integers(0, (len(values) - 1) // WHOLE_BYTES))
    stop = data.draw(st.integers(start + 1, len(values)))
    cut = part(pack(arrays(lists)), start, stop)
    assert cut.sizes == part_sizes(tuple(map(len, lists)), start, stop)
    assert sum(cut.sizes) == stop - start
    assert unpack_known([cut, cut], cut.sizes).tolist() == [values[start:stop]] * 2


@pytest.mark.parametrize("k", range(50))
def test_parts_of_any_number_of_bits_make_up_the_whole(k):
    packed = pack([np.random.default_rng(k).integers(-(2**k), 2**k, 37)])
    parts = [part(packed, 0, 16), part(packed, 16, 32), part(packed, 32, 37)]
    assert joined([*map(joined, map(unpack, parts))]) == joined(unpack(packed))


def test_of_a_part_the_code_may_be_longer_than_of_a_whole_vector():
    packed = pack([np.array([4000] * 8 + [0] * 4000)])
    cut = part(packed, 0, 8)
    assert len(cut.unary) > 8
    with pytest.raises(MessageError, match="cannot be 8 values"):
        unpack(cut)
    assert unpack_known([cut], (8,)).tolist() == [[4000] * 8]


def test_what_was_never_sound_is_noticed():
    packed = pack([np.arange(20)])
    broken = packed._replace(unary=packed.unary[:-1])
    with pytest.raises(MessageError, match="it has not the 20 values"):
        part(broken, 8, 16)
    with pytest.raises(MessageError, match="values found where 20 are announced"):
        unpack_known([broken], (20,))
    with pytest.raises(MessageError, match="not all have the sizes"):
        unpack_known([packed], (10, 10))
