"""Home Assistant understands what it is told about the device."""

from __future__ import annotations

import copy
import json

import pytest

from edge_agent.learning.phase import Phase
from edge_agent.output.home.discovery import discovery, identity
from tests.edge_agent.output.home.schema import faults, shown

HOSTILE = '"]}, {{ states("lock.door") }}<script>'
TASKS = {
    "none known yet": {"activity": ()},
    "one": {"activity": ("walk", "sit", "lie")},
    "several": {"activity": ("walk", "sit"), "mood.v2": ("sit", "grumpy"), "delay": ()},
    "hostile": {"activity": (HOSTILE, "a'b", "None", "ß" * 200)},
    "many": {"activity": tuple(f"class {k}" for k in range(256))},
}


@pytest.mark.parametrize("predicts", [False, True])
@pytest.mark.parametrize("tasks", TASKS.values(), ids=TASKS)
def test_the_message_fits_the_published_schema(tasks, predicts):
    topic, message = discovery("kitchen.pi", "fsir/kitchen", tasks, predicts=predicts)
    assert faults(topic, json.loads(json.dumps(message))) == []


def changed(change):
    """The faults of a message after a change."""
    topic, message = discovery("pi", "home", {"activity": ("walk", "sit")}, predicts=True)
    message = copy.deepcopy(message)
    change(message, message["components"])
    return faults(topic, message)


@pytest.mark.parametrize(
    "change",
    [
        lambda message, _: message.pop("origin"),
        lambda message, _: message["device"].pop("identifiers"),
        lambda message, _: message.pop("state_topic"),
        lambda message, _: message.update(color="red"),
        lambda message, _: message.update(qos=3),
        lambda _, entities: entities["label"].pop("unique_id"),
        lambda _, entities: entities["label"].pop("options"),
        lambda _, entities: entities["label"].pop("command_topic"),
        lambda _, entities: entities["label"].update(command_topic="home/+"),
        lambda _, entities: entities["activity_activity"].pop("device_class"),
        lambda _, entities: entities["activity_activity"].update(options=[]),
        lambda _, entities: entities["activity_activity"].update(state_class="measurement"),
        lambda _, entities: entities["activity_confidence"].update(state_class="percent"),
        lambda _, entities: entities["activity_problem"].update(device_class="trouble"),
        lambda _, entities: entities["activity_problem"].update(entity_category="odd"),
        lambda _, entities: entities["activity_phase"].update(platform="sensors"),
        lambda _, entities: entities["activity_drift"].update(
            unique_id=entities["activity_problem"]["unique_id"]
        ),
    ],
)
def test_the_check_sees_a_broken_message(change):
    assert changed(lambda *_: None) == []
    assert changed(change) != []


def test_abbreviations_mean_the_same():
    topic, message = discovery("pi", "home", {"activity": ("walk",)}, predicts=False)
    short = {"device": "dev", "origin": "o", "components": "cmps", "state_topic": "stat_t"}
    assert faults(topic, {short.get(key, key): value for key, value in message.items()}) == []


def test_one_task_needs_no_name_and_several_do():
    def names(tasks):
        _, message = discovery("pi", "home", tasks, predicts=False)
        return {entity["name"] for entity in message["components"].values()}

    assert {"Activity", "Phase", "Label"} <= names(TASKS["one"])
    assert {"activity: Activity", "mood.v2: Activity", "Label"} <= names(TASKS["several"])


def test_labels_of_all_tasks_can_be_chosen_once():
    _, message = discovery("pi", "home", TASKS["several"], predicts=False)
    assert message["components"]["label"]["options"] == ["walk", "sit", "grumpy"]
    assert "delay_activity" not in message["components"]  # a number has no classes


def test_devices_of_one_home_do_not_meet():
    names = {identity(device, base) for device in ("a.b", "a_b") for base in ("home", "home/2")}
    assert len(names) == 4


STATE = {
    "epsilon_spent": 0.5,
    "epsilon_cap": 2.0,
    "delta": 1e-6,
    "label": "sit",
    "tasks": {
        "activity": {
            "phase": "learning",
            "records": 40,
            "of": 100,
            "activity": "walk",
            "confidence": 93.1,
            "problem": "",
            "drift": False,
            "time": "2026-05-01T12:30:00+00:00",
        }
    },
}


def entities_of(state):
    """What each entity shows of a state, and its attributes."""
    _, message = discovery("pi", "home", {"activity": ("walk", "sit")}, predicts=True)
    return {
        key: (
            shown(entity["value_template"], value_json=state),
            json.loads(shown(entity["json_attributes_template"], value_json=state))
            if "json_attributes_template" in entity
            else {},
        )
        for key, entity in message["components"].items()
        if "value_template" in entity
    }


def test_the_templates_find_their_values():
    assert entities_of(STATE) == {
        "epsilon": ("0.5", {"cap": 2.0, "delta": 1e-6}),
        "label": ("sit", {}),
        "activity_phase": ("learning", {}),
        "activity_records": ("40", {"of": 100}),
        "activity_last_record": ("2026-05-01T12:30:00+00:00", {}),
        "activity_problem": ("OFF", {"text": ""}),
        "activity_activity": ("walk", {}),
        "activity_confidence": ("93.1", {}),
        "activity_drift": ("OFF", {}),
    }


def test_what_is_not_known_is_none_and_what_is_wrong_is_on():
    state = copy.deepcopy(STATE) | {"label": None}
    nothing = dict.fromkeys(["records", "of", "activity", "confidence", "time"])
    state["tasks"]["activity"] |= nothing | {"problem": "another copy goes on", "drift": True}
    told = entities_of(state)
    assert told["activity_problem"] == ("ON", {"text": "another copy goes on"})
    assert told["activity_drift"][0] == "ON"
    for entity in ("label", "activity_activity", "activity_confidence", "activity_records"):
        assert told[entity][0] == "None"


def test_every_phase_is_an_option():
    _, message = discovery("pi", "home", {"activity": ()}, predicts=False)
    options = message["components"]["activity_phase"]["options"]
    assert options == [*(phase.value for phase in Phase), "refused"]


@pytest.mark.parametrize("option", ["walk", HOSTILE, "a'b", '"quoted"', "12"])
def test_a_chosen_label_arrives_as_it_is(option):
    _, message = discovery("pi", "home", {"activity": (option,)}, predicts=False)
    sent = shown(message["components"]["label"]["command_template"], value=option)
    assert json.loads(sent) == {"label": option}
