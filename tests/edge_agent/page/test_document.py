"""What stands on the page, from states of every kind."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from edge_agent.consent.policy import Policy
from edge_agent.labels.timeline import Event
from edge_agent.page.document import Shown, page, trouble
from edge_agent.page.live import Live
from edge_agent.page.look import Look, Release, read
from edge_agent.page.pace import Pace
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, data, receipt, simulated, subspace
from tests.fsir.net.web.test_markup import Reader
from tests.fsir.tasks import task
from tests.golden.files import MOMENTS, copy_state

HOSTILE = '"><script>alert(1)</script><b onclick="x">&amp;'
NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def lived(tmp_path_factory) -> Look:
    """A device that has reported one task, learns for another, and has refused a third."""
    done = task(name="done", privacy={"epsilon": 0.5})
    busy = task(name="busy", privacy={"epsilon": 0.5})
    folder = tmp_path_factory.mktemp("lived")
    state = State(folder, DEVICE, simulated=True)
    agent = simulated(done, state=state)
    agent.learn_many(*data(done, 100))
    agent.receive(*receipt(done, agent.outgoing(1.0)))
    agent.receive(*subspace(done, done.features.names, d=2))
    other = simulated(busy, state=state)
    other.learn_many(*data(busy, 40))
    other.checkpoint()
    simulated(task(name="greedy", privacy={"epsilon": 3.0}), state=state)
    state.note_broker("mqtts://broker.example:8883")
    state.close()
    return read(folder, Policy().delta)


def shown(look: Look, **changes) -> str:
    live = changes.pop("live", None) or Made(look)
    whole = Shown(
        look=look,
        live=live,
        label=None,
        pace=lambda name: Pace(),
        policy=Policy(),
        named=False,
        csrf="the-secret",
        now=NOW,
    )
    return page(replace(whole, **changes))


class Made(Live):
    """What the agent serves, made up."""

    def __init__(self, look=None, trouble="", running=True, **records):
        self.trouble = trouble
        self.records = records
        self._running = running

    @property
    def running(self):
        return self._running


def words(text: str) -> str:
    return " ".join(Reader(text).text.split())


def test_to_whom_what_and_when(lived):
    said = words(shown(lived))
    assert "Whatfinal report: 18 noisy numbers (sums per slice" in said
    assert "whoever runs task done, over mqtts://broker.example:8883" in said
    assert "This task is done: its report is counted, and no other leaves for it." in said
    assert "The final report was made" in said
    assert "40 of 100 records" in said
    assert "This task is refused: nothing leaves for it." in said
    assert "the owner's cap is 2" in said


def test_the_budget_is_the_ledgers(lived):
    text = shown(lived)
    assert "Epsilon 0.5 is spent, at delta 1e-06; 1.5 is left" in words(text)
    assert "done, final report of" in words(text)
    rects = [found for name, found in Reader(text).tags if name == "rect"]
    (bar,) = rects
    assert float(bar["width"]) == pytest.approx(250, abs=5)  # a quarter of the cap


def test_reports_beyond_the_cap_and_reports_without_proof(lived):
    text = shown(lived, policy=Policy(epsilon=0.25))
    assert "0 is left" in words(text)
    (cap,) = (found for name, found in Reader(text).tags if name == "line")
    assert float(cap["x1"]) == pytest.approx(500, abs=5)
    row = lived.releases[0].row
    unproven = replace(lived, releases=[Release(row=row, raised=math.inf)], epsilon=math.inf)
    said = words(shown(unproven))
    assert "Epsilon without bound is spent" in said
    assert "without proof" in said


def test_when_the_next_report_is_due(lived):
    assert "is not known: this page has watched for 0 seconds" in words(shown(lived))
    pace = Pace()
    for second in range(0, 301, 5):
        pace.see(10 + second // 10, NOW - 300 + second)
    said = words(shown(lived, pace=lambda name: pace))
    assert "due in about 10 minutes, at the pace of the last 5 minutes" in said


def test_a_deadline_is_told(tmp_path):
    dated = task(report={"deadline": int(NOW)})
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(dated, state=state, policy=Policy(exact_count=True), clock=lambda: NOW - 9)
    agent.learn_many(*data(dated, 10))
    agent.checkpoint()
    state.close()
    assert "The next report is due 2027-01-1" in words(shown(read(tmp_path, 1e-6)))


def test_a_deadline_that_came_too_soon_is_told(tmp_path):
    dated = task(report={"records": 5000, "deadline": int(NOW) - 1, "sigma_0": 0.05})
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(dated, state=state, policy=Policy(exact_count=True), clock=lambda: NOW - 9)
    agent.learn_many(*data(dated, 10))
    agent.checkpoint()
    state.close()
    said = words(shown(read(tmp_path, 1e-6)))
    assert "There is no next report: its deadline was 2027-01-1" in said
    assert "and this device has 10 of the at least" in said
    assert "report is due" not in said


def test_the_answer_and_where_records_lie(lived):
    served = [
        {"task": "done", "z": [k / 10, -k / 10], "answer": "ab"[k % 2], "confidence": 0.9}
        for k in range(20)
    ]
    text = shown(lived, live=Made(done=served))
    read_text = Reader(text)
    assert "done: b" in words(text)
    assert "90% sure, says the federation's classifier" in words(text)
    dots = [found for name, found in read_text.tags if name == "circle"]
    assert len(dots) == 20
    assert [dot["class"] for dot in dots[-2:]] == ["colour-0", "colour-1 newest"]
    for dot in dots:
        assert 0 < float(dot["cx"]) < 320
        assert 0 < float(dot["cy"]) < 220


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"answer": "c", "confidence": 0.9999, "by": "device"}, "more than 99% sure"),
        ({"doubt": "hardly any record of 'a'"}, "hardly any record of 'a'"),
        ({}, "There is no class to tell."),
        ({"answer": "a", "confidence": None}, "done: a"),
        ({"answer": "a", "z": [math.nan, 1.0]}, "done: a"),
        ({"answer": "a", "z": []}, "done: a"),
        ({"answer": "a", "z": "no list"}, "done: a"),
        ({"answer": "a", "z": [1.0]}, "The newest is ringed and lowest"),
        ({"answer": "a", "z": [1.0, 2.0, 3.0]}, "of which the first two are shown"),
        ({"answer": 7, "z": [1e300, -1e300]}, "done: 7"),
    ],
)
def test_whatever_is_served_is_shown(lived, line, expected):
    assert expected in words(shown(lived, live=Made(done=[{"task": "done"} | line])))


def test_why_nothing_is_seen_live(lived):
    view = Made(trouble="the agent does not run", running=False)
    said = words(shown(lived, live=view))
    assert "The agent does not run" in said
    assert "No live view: the agent does not run." in said
    said = words(shown(lived, live=Made(trouble="the path is too long", running=False)))
    assert "Whether the agent runs is not known" in said
    assert "The next record shows here" in words(shown(lived))


def test_the_pressed_button_and_the_others(lived):
    text = shown(lived, label=Event(NOW, "b", NOW + 1800))
    buttons = {
        found["value"]: found.get("aria-pressed")
        for name, found in Reader(text).tags
        if name == "button"
    }
    assert buttons == {"a": "false", "b": "true", "c": "false", "": None}
    assert "b since" in words(text)
    fields = [found for name, found in Reader(text).tags if name == "input"]
    assert {field["value"] for field in fields} == {"the-secret"}


def test_a_report_that_is_held_can_be_let_go_until_it_is(lived):
    held = {"held": "too little noise", "state": "/srv/state", "lasts": True, "reported": False}
    entries = [entry | held for entry in lived.entries[:1]]
    holding = replace(lived, entries=entries)
    released = replace(lived, entries=[entries[0] | {"released": True}])
    assert "Held back" not in words(shown(lived))
    assert "Held back" not in words(shown(released))
    text = shown(holding)
    assert "Held back" in words(text)
    assert "too little noise" in words(text)
    (button,) = (found for name, found in Reader(text).tags if found.get("name") == "task")
    assert button["value"] == entries[0]["task"]


def test_hostile_words_are_words(lived):
    """Of a task, of the federation, of the aggregator, of a label: nothing becomes an element."""
    plain = [name for name, _ in Reader(shown(lived)).tags]
    held = {"held": HOSTILE, "state": HOSTILE, "lasts": True, "reported": False}
    entry = lived.entries[0] | held | {"reason": HOSTILE, "notes": [HOSTILE]}
    row = lived.releases[0].row._replace(reason=HOSTILE, verdict=HOSTILE)
    hostile = replace(
        lived,
        device=HOSTILE,
        broker=HOSTILE,
        entries=[entry | {"refused": {HOSTILE: 3}}],
        words=dict.fromkeys(lived.words, HOSTILE),
        reports={name: [HOSTILE] for name in lived.words},
        releases=[Release(row=row, raised=0.5)],
    )
    served = [{"task": "done", "z": [1.0, 2.0], "answer": HOSTILE, "confidence": 0.5}]
    text = shown(
        hostile,
        live=Made(done=served),
        label=Event(NOW, HOSTILE, NOW + 1),
    )
    read_text = Reader(text)
    assert read_text.text.count(HOSTILE) >= 10
    assert [name for name, _ in read_text.tags].count("script") == 1
    assert plain.count("script") == 1
    assert not any("onclick" in found for _, found in read_text.tags)


def test_names_of_parts_are_there_once(lived):
    ids = [found["id"] for _, found in Reader(shown(lived)).tags if "id" in found]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("moment", MOMENTS)
def test_states_of_version_0_1_are_shown(moment, tmp_path):
    copy_state(moment, tmp_path / "state")
    look = read(tmp_path / "state", 1e-6)
    said = words(shown(look))
    assert look.broker is None
    assert "a broker that is not known here" in said
    assert all(entry["task"] in said for entry in look.entries)


def test_a_page_that_can_only_say_what_is_wrong():
    assert "the disk is &lt;gone&gt;" in trouble("the disk is <gone>")
