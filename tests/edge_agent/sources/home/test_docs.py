"""What docs/sensors.md shows of a home works as it stands there."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.home.template import load_template
from tests.edge_agent.sources.home.homes import OPTIONS, template

PAGE = Path(__file__).parents[4] / "docs" / "sensors.md"
HOME = PAGE.read_text(encoding="utf-8").split("## A home")[1].split("\n## ")[0]


def test_every_message_of_the_table_has_the_features_beside_it():
    rows = re.findall(r"^\| [^|]+ \| `([^`]+)` \| `([^`]+)` \| (.+) \|$", HOME, re.MULTILINE)
    assert len(rows) == 3
    for topic, message, features in rows:
        with closing(open_source(f"mqtt:{topic}", OPTIONS)) as source:
            source.resume(START)
            source._subscription.step = lambda now: None
            heard = {"topic": topic, "payload": message.encode(), "retain": False, "dup": False}
            source._subscription.receive(SimpleNamespace(**heard))
            (record,) = source.poll(1)
        assert set(re.findall(r"`([^`]+)`", features)) <= set(record.x)
        assert not record.fault


def test_the_template_is_one_and_its_unit_is_the_one_that_is_said(tmp_path):
    (text,) = [block for block in HOME.split("```") if block.lstrip().startswith("every =")]
    read = load_template(template(tmp_path, text))
    assert [value.name for value in read.values] == ["kitchen", "motion", "bath"]
    assert f"`max_age/every`, here {read.unit_records}" in HOME
