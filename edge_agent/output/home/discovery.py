"""What Home Assistant is told about the device, so that it shows by itself.

One message describes the device and all its entities (MQTT discovery, Home Assistant 2024.11 or
newer). Everything that they show stands in one JSON object on the state topic; a value that is not
known is `null`, which the templates turn into the word `None`, and Home Assistant into `unknown`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from edge_agent.learning.phase import Phase

PREFIX = "homeassistant"
BIRTH = f"{PREFIX}/status"  # where Home Assistant says that it has started
BORN = b"online"
AVAILABLE = b"online"
GONE = b"offline"
REFUSED = "refused"  # the phase of a task that was not accepted
_DIAGNOSTIC = {"entity_category": "diagnostic"}
Entity = dict[str, Any]


@dataclass(frozen=True)
class Topics:
    """The topics below the one that the owner has named."""

    base: str

    @property
    def state(self) -> str:
        """What is known, as JSON."""
        return f"{self.base}/state"

    @property
    def availability(self) -> str:
        """Whether the agent runs."""
        return f"{self.base}/availability"

    @property
    def label(self) -> str:
        """Where labels arrive."""
        return f"{self.base}/label/set"


def identity(device: str, base: str) -> str:
    """A name for the device that fits into a topic, and that no other agent of this home has.

    >>> identity("kitchen.pi", "home/kitchen")
    'fsir_kitchen_pi_269fe7fd'
    """
    digest = hashlib.sha256(f"{device}\0{base}".encode()).hexdigest()[:8]
    return f"fsir_{re.sub('[^A-Za-z0-9_-]', '_', device)}_{digest}"


def discovery(
    device: str, base: str, tasks: Mapping[str, Sequence[str]], *, predicts: bool
) -> tuple[str, dict[str, Any]]:
    """Topic and content of the message about a device and its tasks, each with its classes."""
    topics = Topics(base)
    name = identity(device, base)
    entities = _of_device(topics, list(dict.fromkeys(chain.from_iterable(tasks.values()))))
    for task, classes in tasks.items():
        several = len(tasks) > 1
        for key, entity in _of_task(topics, task, classes, predicts).items():
            words = f"{task}: {entity['name']}" if several else entity["name"]
            entities[f"{task}_{key}"] = entity | {"name": words}
    return f"{PREFIX}/device/{name}/config", {
        "device": {
            "identifiers": [name],
            "name": device,
            "manufacturer": "FSIR at the edge",
            "model": "fsir-agent",
        },
        "origin": {"name": "fsir-agent"},
        "state_topic": topics.state,
        "availability_topic": topics.availability,
        "qos": 1,
        "components": {
            key: entity | {"unique_id": f"{name}_{key}"} for key, entity in entities.items()
        },
    }


def _of_device(topics: Topics, labels: Sequence[str]) -> dict[str, Entity]:
    epsilon: Entity = {
        "platform": "sensor",
        "name": "Epsilon spent",
        "icon": "mdi:shield-lock-outline",
        "state_class": "measurement",
        "suggested_display_precision": 3,
        "value_template": "{{ value_json.epsilon_spent }}",
        **_attributes(topics, cap="value_json.epsilon_cap", delta="value_json.delta"),
        **_DIAGNOSTIC,
    }
    if not labels:
        return {"epsilon": epsilon}
    return {
        "epsilon": epsilon,
        "label": {
            "platform": "select",
            "name": "Label",
            "icon": "mdi:label-outline",
            "options": list(labels),
            "value_template": "{{ value_json.label }}",
            "command_topic": topics.label,
            "command_template": "{{ {'label': value} | tojson }}",
        },
        "label_clear": {
            "platform": "button",
            "name": "Clear label",
            "icon": "mdi:label-off-outline",
            "command_topic": topics.label,
            "payload_press": '{"label": ""}',
        },
    }


def _of_task(
    topics: Topics, task: str, classes: Sequence[str], predicts: bool
) -> dict[str, Entity]:
    here = f"value_json.tasks['{task}']"  # names of tasks have no quotes
    entities: dict[str, Entity] = {
        "phase": {
            "platform": "sensor",
            "name": "Phase",
            "device_class": "enum",
            "options": [*map(str, Phase), REFUSED],
            "value_template": f"{{{{ {here}.phase }}}}",
            **_DIAGNOSTIC,
        },
        "records": {
            "platform": "sensor",
            "name": "Records learned",
            "icon": "mdi:counter",
            "state_class": "measurement",
            "value_template": f"{{{{ {here}.records }}}}",
            **_attributes(topics, of=f"{here}.of"),
            **_DIAGNOSTIC,
        },
        "last_record": {
            "platform": "sensor",
            "name": "Last record",
            "device_class": "timestamp",
            "value_template": f"{{{{ {here}.time }}}}",
            **_DIAGNOSTIC,
        },
        "problem": {
            "platform": "binary_sensor",
            "name": "Problem",
            "device_class": "problem",
            "value_template": f"{{{{ 'ON' if {here}.problem else 'OFF' }}}}",
            **_attributes(topics, text=f"{here}.problem"),
            **_DIAGNOSTIC,
        },
    }
    if classes:
        entities |= _recognised(here, classes)
    if classes and predicts:
        entities["drift"] = {
            "platform": "binary_sensor",
            "name": "Drift",
            "device_class": "problem",
            "value_template": f"{{{{ 'ON' if {here}.drift else 'OFF' }}}}",
            **_DIAGNOSTIC,
        }
    return entities


def _recognised(here: str, classes: Sequence[str]) -> dict[str, Entity]:
    return {
        "activity": {
            "platform": "sensor",
            "name": "Activity",
            "icon": "mdi:run",
            "device_class": "enum",
            "options": list(classes),
            "value_template": f"{{{{ {here}.activity }}}}",
        },
        "confidence": {
            "platform": "sensor",
            "name": "Confidence",
            "icon": "mdi:percent-outline",
            "state_class": "measurement",
            "unit_of_measurement": "%",
            "suggested_display_precision": 0,
            "value_template": f"{{{{ {here}.confidence }}}}",
        },
    }


def _attributes(topics: Topics, **values: str) -> Entity:
    """Further values of an entity."""
    table = ", ".join(f"'{name}': {value}" for name, value in values.items())
    return {
        "json_attributes_topic": topics.state,
        "json_attributes_template": f"{{{{ {{{table}}} | tojson }}}}",
    }
