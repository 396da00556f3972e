from __future__ import annotations

import hashlib
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
from tests.fsir.tasks import screened, table, task

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
    found = load_task(path)
    assert found.features.centre == (0.5, 0.5)
    assert (found.privacy.mechanism, found.privacy.delta, found.privacy.unit_records) == (
        "gaussian",
        1e-6,
        1,
    )
    assert (found.report.presence, found.screening, found.dimension, found.epoch) == (
        False,
        None,
        None,
        1,
    )
    assert found.aggregation is None
    assert found.report.deadline == 1796083200
    assert decode_task(found.encode()) == found


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


EVERY_KIND = {
    "plain": task(),
    "numbers": task(response={"classes": None, "cuts": [0.0, 1.5]}, dimension=2),
    "screened": screened(6),
    "votes": screened(6, method="votes", threshold=0.3, records="fresh"),
    "published": task(privacy={"mechanism": "vgm", "delta": 1e-3}),
    "derived": task(report={"records": None, "sigma_0": 0.2, "max_delay": 60}, epoch=4),
    "dated": task(report={"records": 5000, "sigma_0": 0.2, "deadline": 2_000_000_000}),
    "trimmed": task(aggregation="trimmed"),
}


@pytest.mark.parametrize("found", EVERY_KIND.values(), ids=EVERY_KIND)
def test_bytes_and_tables_give_the_same_task_again(found):
    raw = found.encode()
    assert decode_task(raw) == found
    assert task_from_table(found.table()) == found
    assert task_from_table(found.table()).encode() == raw
    assert found.digest == hashlib.sha256(raw).digest()


def test_the_digest_is_the_same_for_the_same_meaning_and_changes_with_every_field():
    assert (
        task(features={"centre": 0, "scale": 1}).digest
        == task(features={"centre": [0.0, 0, -0.0]}).digest
    )
    shuffled = dict(reversed(list(table().items())))
    assert task_from_table(shuffled).digest == task().digest
    changed = [
        task(name="other"), task(epoch=2), task(features={"centre": 0.1}), task(features={"scale": 2}),
        task(dimension=1),
        task(response={"classes": ["a", "c", "b"]}), task(clip={"norm": 1.0}), task(clip={"truncate": 2.5}),
        task(privacy={"delta": 1e-5}), task(privacy={"unit_records": 2}), task(report={"records": 101}),
        task(report={"presence": True}), task(privacy={"mechanism": "iid"}), task(aggregation="trimmed"),
    ]  # fmt: skip
    assert len({one.digest for one in [task(), *changed]}) == len(changed) + 1


def test_a_task_that_asks_for_nothing_new_keeps_its_identity():
    """Devices that have pinned a task know it by this digest: a new field must not change it where it is not used."""
    assert task().digest.hex().startswith("aba31672d660dd97")
    assert screened().digest.hex().startswith("2f5116f392dcc7c8")
    assert task(aggregation="sum", dimension="auto").digest == task().digest


WRONG = {
    "name": [table(name="a/b"), table(name="a" * 65), table(name="+"), table(name=3)],
    "features.names": [
        table(features={"names": []}), table(features={"names": ["a", "a"]}), table(features={"names": None}),
        table(features={"names": [f"x{j}" for j in range(20_001)]}),
        table(5000, clip={"norm": 1.0}),  # more numbers than a report can hold
    ],
    "features.centre": [table(features={"centre": [0.0]}), table(features={"centre": 1e200})],
    "features.scale": [
        table(features={"scale": 0.0}), table(features={"scale": -1.0}), table(features={"scale": 1e-200}),
        table(features={"scale": [1.0, 1.0]}),
    ],
    "response.classes": [
        table(response={"classes": ["a"]}), table(response={"classes": ["a", "a"]}), table(response={"cuts": [1.0]}),
        table(response={"classes": None}), table(response={"classes": [1, 2]}),
        table(response={"classes": [str(h) for h in range(257)]}),
    ],
    "response.cuts": [
        table(response={"classes": None, "cuts": [1.0, 1.0]}), table(response={"classes": None, "cuts": [math.nan]}),
    ],
    "clip.truncate": [
        table(clip={"truncate": 0}), table(clip={"truncate": 1e-9}), table(clip={"truncate": 1000.0, "norm": 1.0}),
        table(clip={"truncate": None}),
    ],
    "clip.norm": [table(clip={"norm": 4.0}), table(clip={"norm": 0}), table(clip={"norm": -1})],
    "privacy.epsilon": [
        table(privacy={"epsilon": 0}), table(privacy={"epsilon": -1}), table(privacy={"epsilon": None}),
        table(privacy={"epsilon": 50}), table(privacy={"epsilon": 1e-12}),
        table(privacy={"epsilon": 1e-6, "unit_records": 100_000}),
    ],
    "privacy.delta": [
        table(privacy={"delta": 0}), table(privacy={"delta": 0.5}), table(privacy={"delta": 1e-13}),
    ],
    "privacy.mechanism": [table(privacy={"mechanism": "laplace"})],
    "privacy.unit_records": [table(privacy={"unit_records": 0}), table(privacy={"unit_records": 1.5})],
    "privacy.epsilom": [table(privacy={"epsilom": 1.0})],
    "report.records": [
        table(report={"records": 0}), table(report={"records": 2**25}), table(report={"records": None}),
        table(report={"records": None, "deadline": 2_000_000_000}),  # one liar would claim all records in the world
        table(report={"records": None, "deadline": 2_000_000_000, "sigma_0": 0.1}),
        table(report={"records": None, "deadline": 2_000_000_000}, screening={"final_norm": 1.0}),
        table(report={"records": 10, "deadline": 2_000_000_000, "sigma_0": 0.1}),  # fewer than the fewest
    ],
    "aggregation": [
        table(aggregation="median"), table(aggregation=0.25), table(aggregation=None),
        table(aggregation="trimmed", report={"deadline": 2_000_000_000}),
        table(aggregation="trimmed", screening={"final_norm": 1.0, "method": "votes", "threshold": 0.5}),
    ],
    "report.sigma_0": [
        table(report={"sigma_0": 0.1}), table(report={"records": None, "sigma_0": 1e-9}),
        table(report={"records": None, "sigma_0": 1e-300}),
        table(report={"records": None, "sigma_0": 0.1}, privacy={"mechanism": "none"}),
    ],
    "report.deadline": [table(report={"deadline": -1}), table(report={"deadline": "tomorrow"})],
    "report.max_delay": [table(report={"max_delay": -1e-12}), table(report={"max_delay": 1e9})],
    "report.presence": [table(report={"presence": 1})],
    "screening.final_norm": [table(screening={}), table(screening={"final_norm": 1.0, "final_norm_factor": 1.0})],
    "screening.select": [table(screening={"final_norm": 1.0, "select": "majority"})],
    "screening.threshold": [table(screening={"final_norm": 1.0, "method": "votes"})],
    "screening.code": [
        table(screening={"final_norm": 1.0, "code": "circle"}),
        table(screening={"final_norm": 1.0, "method": "votes", "threshold": 1, "code": "simplex"}),
    ],
    "screening.keep": [table(screening={"final_norm": 1.0, "keep": 4})],
    "screening.limit": [table(screening={"final_norm": 1.0, "limit": 0})],
    "screening.share": [table(screening={"final_norm": 1.0, "share": share}) for share in (0.0, 1.0)],
    "screening.records": [
        table(screening={"final_norm": 1.0, "records": "other"}),
        table(1000, report={"records": 10**6}, screening={"final_norm": 1.0}),
    ],
    "dimension": [
        table(dimension=3), table(dimension=0), table(dimension="two"),
        table(dimension=2, screening={"final_norm": 1.0, "limit": 1, "keep": 1}),
    ],
    "epoch": [table(epoch=0)],
    "extra": [table(extra=1)],
    "clip": [table(clip=3)],
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG)
def test_every_fault_is_named_with_its_value_and_remedy(field):
    for wrong in WRONG[field]:
        with pytest.raises(TaskError) as caught:
            task_from_table(wrong)
        assert caught.value.field == field
        assert len(caught.value.remedy) > 10


numbers = st.one_of(
    st.floats(), st.integers(), st.sampled_from([0, 1, -1, 1e-300, 1e300, 1e-12, 0.5, 1000, 2**25])
)


@pytest.mark.parametrize("mechanism", ["gaussian", "iid", "vgm"])
@pytest.mark.parametrize("epsilon", [1e-300, 5.6e-258, 1e-160, 1e-30])
def test_an_epsilon_that_is_next_to_nothing_is_refused(mechanism, epsilon):
    with pytest.raises(TaskError, match=r"privacy\.epsilon"):
        task(privacy={"epsilon": epsilon, "mechanism": mechanism})


@given(
    st.lists(st.tuples(st.sampled_from(["clip.truncate", "clip.norm", "privacy.epsilon", "privacy.delta",
        "privacy.unit_records", "report.records", "report.sigma_0", "features.centre", "features.scale",
        "screening.final_norm", "screening.share", "screening.limit", "screening.keep", "dimension"]), numbers),
        min_size=1, max_size=4),
    st.sampled_from(["gaussian", "iid", "vgm", "none"]),
)  # fmt: skip
def test_whatever_passes_the_checks_can_be_carried_out(changes, mechanism):
    values = screened(6).table()
    values["privacy"]["mechanism"] = mechanism
    for path, value in changes:
        *section, key = path.split(".")
        (values[section[0]] if section else values)[key] = value
        if key == "sigma_0":
            values["report"].pop("records", None)
    try:
        found = task_from_table(values)
    except TaskError:
        return
    assert decode_task(found.encode()) == found
    assert 1 <= report_size(found) <= MAX_RECORDS
    for stage in all_stages(found):
        assert stage.mu > 0
        assert all(
            math.isfinite(block.sd) and 1 <= block.step <= 2**53 and block.unit > 0
            for block in stage.blocks
        )
    assert describe(found)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw + b"\0",
        lambda raw: raw[:-1],
        lambda raw: b"",
        lambda raw: msgpack.packb([1, 2]),
        lambda raw: msgpack.packb({**msgpack.unpackb(raw), "epoch": 1.0}),
        lambda raw: msgpack.packb(
            dict(reversed(list(msgpack.unpackb(raw).items())))
        ),  # not in canonical order
        lambda raw: msgpack.packb(
            {**msgpack.unpackb(raw), "clip": {"truncate": 2, "norm": 1.0}}
        ),  # 2 is not 2.0
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


def test_every_task_and_every_active_set_fits_into_a_message():
    def wide(p):
        names = [f"{j:05}" + "\u6f22" * 195 for j in range(p)]
        return task(
            p, features={"names": names}, clip={"norm": 1.0}, report={"records": 100},
            screening={"final_norm": 1.0, "limit": 1500, "records": "fresh"},
        )  # fmt: skip

    largest = wide(6850)
    assert decode_task(largest.encode()).digest == largest.digest
    every = messages.Active(largest.digest, largest.features.names, 9)
    assert len(messages.encode(every)) <= LIMITS["active"]
    with pytest.raises(TaskError, match="devices read at most"):
        wide(7200)
