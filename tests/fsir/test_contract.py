"""Reading a task from files and bytes, and that whatever passes can be carried out."""

from __future__ import annotations

import math
import tracemalloc

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.contract import decode_task, load_task, task_from_table
from fsir.errors import FsirError, TaskError
from fsir.limits import LIMITS, MAX_RECORDS
from fsir.privacy.describe import describe
from fsir.privacy.plan import all_stages, report_size
from fsir.wire import messages
from tests.fsir.tasks import screened, task

TOML = """
name = "stairs"
[features]
names = ["speed", "tilt"]
centre = 0.5
scale = [1.0, 2]
[response]
name = "activity"
classes = ["sit", "walk"]
[clip]
truncate = 2
norm = 2.0
[privacy]
epsilon = 1
[report]
records = 5000
deadline = 2026-12-01T00:00:00Z
"""


def test_a_file_gives_a_task_with_safe_defaults(tmp_path):
    path = tmp_path / "task.toml"
    path.write_text(TOML)
    loaded = load_task(path)
    assert loaded.features.centre == (0.5, 0.5)
    assert loaded.privacy.mechanism == "gaussian"
    assert loaded.privacy.delta == 1e-6
    assert loaded.privacy.unit_records == 1
    assert loaded.report.presence is False
    assert loaded.screening is None
    assert loaded.dimension is None
    assert loaded.epoch == 1
    assert loaded.aggregation is None
    assert loaded.report.deadline == 1796083200
    assert decode_task(loaded.encode()) == loaded


@pytest.mark.parametrize(
    ("content", "remedy"),
    [(None, "does not exist"), (b"name =", "not valid TOML"), (b"\xff", "TOML")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, remedy):
    path = tmp_path / "task.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TaskError, match=remedy) as caught:
        load_task(path)
    assert "task.toml" in str(caught.value)


@pytest.mark.parametrize("mechanism", ["gaussian", "iid", "vgm"])
@pytest.mark.parametrize("epsilon", [1e-300, 5.6e-258, 1e-160, 1e-30])
def test_an_epsilon_that_is_next_to_nothing_is_refused(mechanism, epsilon):
    with pytest.raises(TaskError, match=r"privacy\.epsilon"):
        task(privacy={"epsilon": epsilon, "mechanism": mechanism})


NUMERIC_FIELDS = [
    "clip.truncate",
    "clip.norm",
    "privacy.epsilon",
    "privacy.delta",
    "privacy.unit_records",
    "report.records",
    "report.sigma_0",
    "features.centre",
    "features.scale",
    "screening.final_norm",
    "screening.share",
    "screening.limit",
    "screening.keep",
    "dimension",
]
numbers = st.one_of(
    st.floats(), st.integers(), st.sampled_from([0, 1, -1, 1e-300, 1e300, 1e-12, 0.5, 1000, 2**25])
)
changes_of_a_few = st.lists(
    st.tuples(st.sampled_from(NUMERIC_FIELDS), numbers), min_size=1, max_size=4
)


@given(changes_of_a_few, st.sampled_from(["gaussian", "iid", "vgm", "none"]))
def test_whatever_passes_the_checks_can_be_carried_out(changes, mechanism):
    values = screened(6).table()
    values["privacy"]["mechanism"] = mechanism
    for path, value in changes:
        *section, key = path.split(".")
        (values[section[0]] if section else values)[key] = value
        if key == "sigma_0":
            values["report"].pop("records", None)
    try:
        made = task_from_table(values)
    except TaskError:
        return
    assert decode_task(made.encode()) == made
    assert 1 <= report_size(made) <= MAX_RECORDS
    for stage in all_stages(made):
        assert stage.mu > 0
        for block in stage.blocks:
            assert math.isfinite(block.sd)
            assert 1 <= block.step <= 2**53
            assert block.unit > 0
    assert describe(made)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw + b"\0",
        lambda raw: raw[:-1],
        lambda raw: b"",
        lambda raw: msgpack.packb([1, 2]),
        lambda raw: msgpack.packb({**msgpack.unpackb(raw), "epoch": 1.0}),
        # Not in canonical order.
        lambda raw: msgpack.packb(dict(reversed(list(msgpack.unpackb(raw).items())))),
        # 2 is not 2.0.
        lambda raw: msgpack.packb({**msgpack.unpackb(raw), "clip": {"truncate": 2, "norm": 1.0}}),
        lambda raw: b"\x91" * 2000,
        lambda raw: msgpack.packb({"name": "x" * (5 * 2**20)}),
    ],
)
def test_bytes_that_are_not_canonical_are_refused(spoil):
    with pytest.raises(FsirError):
        decode_task(spoil(task().encode()))


def test_a_hostile_task_costs_little():
    names = ["same"] * 20_000
    raw = msgpack.packb({**task().table(), "features": {"names": names}})
    tracemalloc.start()
    try:
        with pytest.raises(TaskError, match="unique"):
            decode_task(raw)
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()


def wide(p):
    """A task of p features with the longest names that there can be."""
    return task(
        p,
        features={"names": [f"{j:05}" + "\u6f22" * 195 for j in range(p)]},
        clip={"norm": 1.0},
        report={"records": 100},
        screening={"final_norm": 1.0, "limit": 1500, "records": "fresh"},
    )


def test_every_task_and_every_active_set_fits_into_a_message():
    largest = wide(6850)
    assert decode_task(largest.encode()).digest == largest.digest
    every = messages.Active(largest.digest, largest.features.names, 9)
    assert len(messages.encode(every)) <= LIMITS["active"]
    with pytest.raises(TaskError, match="devices read at most"):
        wide(7200)
