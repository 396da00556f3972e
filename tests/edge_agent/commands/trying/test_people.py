"""`fsir-agent try` names every fault in the records of people, invented and real, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edge_agent.cli import main
from sim_devices.datasets.har import har
from sim_devices.datasets.synthetic_har import synthetic_har
from tests.edge_agent.commands.trying.tables import (
    FAULTS,
    HEADERS,
    constant,
    exchanged,
    half_missing,
    milliseconds,
    other_unit,
    proposed,
    recorded,
    write_task,
)


class People:
    """Some people, of whom the first is the volunteer that the task is made of."""

    def __init__(self, population, folder: Path):
        self.population = population
        self.of = proposed(population, population.devices[0])
        self.folder = folder
        self.task = write_task(self.of, folder / "task.toml")

    def try_on(self, capsys, fault=None, person=None, *more):
        """What is said about a stranger's table with a fault; and what should be."""
        table = recorded(self.population, person or self.population.unseen[0], self.of)
        expected = "" if fault is None else fault(table)
        path = table.write(self.folder / "readings.csv")
        timed = ["--time-column", "time"] if table.time_unit else []
        arguments = ["--task", str(self.task), "--source", f"csv:{path}", *timed, *more]
        code = main(["try", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err, expected


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    population = synthetic_har(6, 300, levels=False, unseen=2)
    return People(population, tmp_path_factory.mktemp("invented"))


@pytest.fixture(scope="module")
def real(tmp_path_factory, data_dir):
    return People(har(data_dir / "uci_har", levels=False), tmp_path_factory.mktemp("real"))


def check_right(people, capsys):
    code, out, _, _ = people.try_on(capsys)
    assert code == 0
    assert out.endswith("\nlooks right\n")
    assert f"{people.of.p} of {people.of.p} features, and the response" in out
    assert "200 of 200 can be used" in out


def check_fault(people, capsys, fault):
    """It is said first, and alone; of columns that are exchanged no label can be right."""
    code, out, _, expected = people.try_on(capsys, fault)
    assert code == 1
    first, *others = re.findall(r"^  \d+\. (.*)$", out, re.MULTILINE)
    assert expected in first
    assert fault is exchanged or not others


def check_header(people, capsys, fault):
    """A table whose header is wrong: the reader refuses it, or the verdict names the header."""
    code, out, err, expected = people.try_on(capsys, fault)
    assert code in (1, 2)
    assert expected in out + err


@pytest.mark.long
class TestInvented:
    """On invented people, who need no data."""

    def test_a_stranger_looks_right(self, invented, capsys):
        check_right(invented, capsys)

    @pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
    def test_a_fault_is_named(self, invented, capsys, fault):
        check_fault(invented, capsys, fault)

    @pytest.mark.parametrize("fault", HEADERS, ids=lambda fault: fault.__name__)
    def test_a_wrong_header_is_named(self, invented, capsys, fault):
        check_header(invented, capsys, fault)


@pytest.mark.data
@pytest.mark.long
class TestReal:
    """On people of HAR."""

    def test_every_stranger_looks_right(self, real, capsys):
        for person in real.population.everyone[1::3]:
            assert real.try_on(capsys, None, person)[0] == 0, person.device

    @pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
    def test_a_fault_is_named(self, real, capsys, fault):
        check_fault(real, capsys, fault)

    @pytest.mark.parametrize("fault", HEADERS, ids=lambda fault: fault.__name__)
    def test_a_wrong_header_is_named(self, real, capsys, fault):
        check_header(real, capsys, fault)


def test_every_fault_is_tried():
    """Ten of them: the two about headers may be refused by the reader of the table."""
    assert len(FAULTS) + len(HEADERS) == 10
    assert {constant, half_missing, milliseconds, other_unit} <= set(FAULTS)
