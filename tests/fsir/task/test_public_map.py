"""Centres and map of a task are the same numbers, and the same task, in a file and on the wire."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import tomli_w

from fsir.contract import decode_task, load_task, task_from_table
from fsir.task.public_map import as_text, pack, unpack
from tests.fsir.tasks import mapped, task


def test_what_is_packed_comes_back_as_float32_in_rows():
    rows = np.random.default_rng(0).normal(size=(4, 7))
    assert np.array_equal(unpack(pack(rows), 7), rows.astype(np.float32))
    assert np.array_equal(unpack(pack(rows.T.copy().T), 7), rows.astype(np.float32))  # by columns
    assert len(pack(rows)) == 4 * 7 * 4


@pytest.mark.parametrize("check", [None, 2.5])
@pytest.mark.parametrize("identity", [False, True])
def test_a_file_and_a_message_give_the_same_task(identity, check, tmp_path):
    made = mapped(6, 3, identity=identity, check=check)
    file = tmp_path / "task.toml"
    file.write_text(tomli_w.dumps(as_text(made.table())))
    assert load_task(file) == made == decode_task(made.encode())
    assert load_task(file).digest == made.digest == task_from_table(made.table()).digest
    assert isinstance(tomllib.loads(file.read_text())["public"]["centres"], str)
    assert isinstance(made.table()["public"]["centres"], bytes)


def test_map_and_centres_are_numbers_of_the_right_shape():
    made = mapped(6, 3)
    assert made.public.matrix(6).shape == (6, 3)
    assert made.public.centre_rows().shape == (3, 3)
    assert (made.p, made.coordinates) == (6, 3)


def test_without_a_map_it_is_the_identity():
    made = mapped(4, identity=True)
    assert np.array_equal(made.public.matrix(4), np.eye(4))
    assert "map" not in made.table()["public"]


def test_a_task_without_the_section_does_not_mention_it():
    plain = task(4)
    assert "public" not in plain.table()
    assert "split" not in plain.table()["privacy"]
    assert plain.coordinates == plain.p


def test_a_task_without_a_check_does_not_mention_it():
    made = mapped(6, 3)
    assert "check" not in made.table()["public"]
    # The bytes of before there were checks.
    assert made.digest.hex()[:16] == "c99c5c2e4fc9bea3"
    assert (made.numbers, task(4).numbers) == (3, 4)


def test_a_check_is_part_of_the_task():
    made = mapped(6, 3, check=2.5)
    assert made.public.check == 2.5
    assert made.digest not in (mapped(6, 3).digest, mapped(6, 3, check=2.6).digest)
    assert (made.coordinates, made.numbers) == (3, 4)


def test_another_map_is_another_task():
    made = mapped(6, 3)
    other = made.public.map[:-1] + bytes([made.public.map[-1] ^ 1])
    table = made.table()
    assert task_from_table({**table, "public": {**table["public"], "map": other}}) != made
