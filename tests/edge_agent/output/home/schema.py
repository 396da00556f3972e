"""What Home Assistant accepts as a device discovery message, from its published schema.

Source: Home Assistant 2026.8, integration `mqtt`: documentation ("MQTT Discovery", "MQTT Sensor",
"MQTT Binary sensor", "MQTT Select", "MQTT Button") and the schemas of its code (`schemas`,
`discovery`, `abbreviations`, `config`, `sensor`, `binary_sensor`, `select`, `button`). Home
Assistant lets unknown fields of an entity pass in silence; here they are faults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

TOPIC = re.compile(r"homeassistant/device/(?:[a-zA-Z0-9_-]+/)?[a-zA-Z0-9_-]+/config")
ABBREVIATIONS = {
    "avty_t": "availability_topic",
    "cmd_t": "command_topic",
    "cmd_tpl": "command_template",
    "cmps": "components",
    "def_ent_id": "default_entity_id",
    "dev": "device",
    "dev_cla": "device_class",
    "ent_cat": "entity_category",
    "exp_aft": "expire_after",
    "ic": "icon",
    "json_attr_t": "json_attributes_topic",
    "json_attr_tpl": "json_attributes_template",
    "o": "origin",
    "ops": "options",
    "p": "platform",
    "pl_avail": "payload_available",
    "pl_not_avail": "payload_not_available",
    "pl_off": "payload_off",
    "pl_on": "payload_on",
    "pl_prs": "payload_press",
    "ret": "retain",
    "stat_cla": "state_class",
    "stat_t": "state_topic",
    "sug_dsp_prc": "suggested_display_precision",
    "uniq_id": "unique_id",
    "unit_of_meas": "unit_of_measurement",
    "val_tpl": "value_template",
}
OF_DEVICE = {"cns": "connections", "cu": "configuration_url", "ids": "identifiers"}
OF_DEVICE |= {"mf": "manufacturer", "mdl": "model", "sw": "sw_version"}
OF_ORIGIN = {"sw": "sw_version", "url": "support_url"}
# What entities take over from the message where they do not say it themselves.
SHARED = {"availability_topic", "payload_available", "payload_not_available", "command_topic"}
SHARED |= {"state_topic", "qos", "encoding"}
COMMON = SHARED | {"platform", "unique_id", "name", "icon", "entity_category", "enabled_by_default"}
COMMON |= {"json_attributes_topic", "json_attributes_template", "default_entity_id"}
FIELDS = {
    "sensor": COMMON
    | {"device_class", "state_class", "unit_of_measurement", "options", "expire_after"}
    | {"suggested_display_precision", "force_update", "value_template"},
    "binary_sensor": COMMON
    | {"device_class", "payload_on", "payload_off", "off_delay", "expire_after", "value_template"},
    "select": COMMON | {"options", "command_template", "value_template", "optimistic", "retain"},
    "button": COMMON | {"device_class", "command_template", "payload_press", "retain"},
}
REQUIRED = {
    "sensor": {"state_topic"},
    "binary_sensor": {"state_topic"},
    "select": {"command_topic", "options"},
    "button": {"command_topic"},
}
# Of the classes of sensors only those without a unit, or with %: more are not used here.
SENSOR_CLASSES = {"date", "enum", "timestamp", "battery", "humidity", "moisture", "power_factor"}
UNITLESS = {"date", "enum", "timestamp"}
BINARY_CLASSES = {"connectivity", "motion", "moving", "occupancy", "presence", "problem", "running"}
STATE_CLASSES = {"measurement", "measurement_angle", "total", "total_increasing"}
CATEGORIES = {"config", "diagnostic"}
LONGEST_STATE = 255  # characters of what an entity shows


def faults(topic: str, message: dict[str, Any]) -> list[str]:
    """What is wrong with a message; nothing if Home Assistant would take all of it."""
    return list(_faults(topic, _long(message, ABBREVIATIONS)))


def _long(table: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in table.items()}


def _faults(topic: str, message: dict[str, Any]) -> Iterator[str]:
    if not TOPIC.fullmatch(topic):
        yield f"topic {topic}"
    for field in ("device", "origin", "components"):
        if not message.get(field):
            yield f"{field} is missing"
    if unknown := set(message) - SHARED - {"device", "origin", "components"}:
        yield f"unknown fields {sorted(unknown)}"
    device = _long(message.get("device", {}), OF_DEVICE)
    if not (device.get("identifiers") or device.get("connections")):
        yield "the device has nothing that identifies it"
    if not isinstance(_long(message.get("origin", {}), OF_ORIGIN).get("name"), str):
        yield "the origin has no name"
    if message.get("qos", 0) not in (0, 1, 2):
        yield f"qos {message['qos']}"
    entities = [_long(entity, ABBREVIATIONS) for entity in message.get("components", {}).values()]
    ids = [entity.get("unique_id") for entity in entities]
    if len(set(ids)) < len(ids):
        yield f"unique_id repeats: {ids}"
    shared = {field: value for field, value in message.items() if field in SHARED}
    for entity in entities:
        name = entity.get("unique_id") or entity
        yield from (f"{name}: {fault}" for fault in _entity(entity, shared))


def _entity(entity: dict[str, Any], shared: dict[str, Any]) -> Iterator[str]:
    platform = entity.get("platform")
    if platform not in FIELDS:
        yield f"platform {platform}"
        return
    if not isinstance(entity.get("unique_id"), str):
        yield "no unique_id"
    if unknown := set(entity) - FIELDS[platform]:
        yield f"unknown fields {sorted(unknown)}"
    whole = shared | entity
    if missing := REQUIRED[platform] - {field for field, value in whole.items() if value}:
        yield f"lacks {sorted(missing)}"
    if entity.get("entity_category", "diagnostic") not in CATEGORIES:
        yield f"entity_category {entity['entity_category']}"
    if not re.fullmatch(r"[\w-]+:[\w-]+", entity.get("icon", "mdi:run")):
        yield f"icon {entity['icon']}"
    for field, value in whole.items():
        if field.endswith("_topic") and not _is_topic(value):
            yield f"{field} {value!r}"
        if field.endswith("_template") and value.count("{{") != value.count("}}"):
            yield f"{field} {value!r}"
    yield from {"sensor": _sensor, "binary_sensor": _binary}.get(platform, _no_more)(entity)
    options = entity.get("options", [])
    if not all(isinstance(option, str) and len(option) <= LONGEST_STATE for option in options):
        yield f"options {options}"


def _is_topic(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.encode()) < 65536 and not set(value) & set("+#")


def _sensor(entity: dict[str, Any]) -> Iterator[str]:
    kind = entity.get("device_class")
    measured = entity.get("state_class") or entity.get("unit_of_measurement")
    if kind is not None and kind not in SENSOR_CLASSES:
        yield f"device_class {kind}"
    if entity.get("state_class", "measurement") not in STATE_CLASSES:
        yield f"state_class {entity['state_class']}"
    if "options" in entity and (kind != "enum" or measured or not entity["options"]):
        yield "options belong to an enum, which is not measured, and are not empty"
    if kind in UNITLESS and measured:
        yield f"a sensor of class {kind} is not measured"


def _binary(entity: dict[str, Any]) -> Iterator[str]:
    if entity.get("device_class", "problem") not in BINARY_CLASSES:
        yield f"device_class {entity['device_class']}"


def _no_more(_: dict[str, Any]) -> Iterator[str]:
    return iter(())


# --- what entities show ---------------------------------------------------------------------------


class _Value(dict[str, Any]):
    """JSON as templates see it: `value_json.tasks['activity'].phase`."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class _ToJson:
    """The filter: `value | tojson`."""

    def __ror__(self, value: Any) -> str:
        return json.dumps(value)


def shown(template: str, **values: Any) -> str:
    """What a template makes of values; ours are expressions that Python reads in the same way."""
    found = re.fullmatch(r"\{\{ (.*) \}\}", template)
    assert found is not None, template
    names = {name: _wrapped(value) for name, value in values.items()}
    return str(eval(found[1], {"tojson": _ToJson(), **names}))


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return _Value({key: _wrapped(entry) for key, entry in value.items()})
    return value
