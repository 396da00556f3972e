"""`run -c agent.toml`: every option, the command line first, and each mistake by name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from edge_agent.commands import run
from edge_agent.commands.settings.config import add_config, prepare
from fsir.errors import FsirError

EXAMPLE = Path(__file__).resolve().parents[4] / "deploy" / "example" / "agent.toml"
NEEDED = 'broker = "mqtt://host"\ntask = "t"\ndevice = "d"\nsource = "jsonl:-"\n'


def parsed(*words: str) -> argparse.Namespace:
    """The options of `fsir-agent run` with these words."""
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    run.prepare(parser, words)
    return parser.parse_args(words)


def written(folder: Path, text: str) -> str:
    path = folder / "agent.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_says_what_the_command_line_would(tmp_path: Path) -> None:
    words = {
        "broker": "mqtts://host:99",
        "device": "pi-7",
        "source": "mqtt:t",
        "username": "me",
        "time-column": "t",
        "record-id": "id",
        "source-broker": "mqtt://home",
        "labels": "press",
        "stay": "no",
        "log-level": "debug",
        "output": "-",
        "output-broker": "mqtt://home",
        "output-username": "me",
        "output-mode": "0660",
        "output-group": "home",
    }
    paths = ["state", "policy", "password-file", "ca", "cert", "key", "source-ca"]
    paths += ["source-password-file", "output-password-file", "output-ca"]
    numbers = {"speed": 2, "acc-range": 8.5, "gyro-range": 35, "label-delay": 0, "save-every": 1.5}
    switches = ["follow", "predict", "once"]
    lines = [f'{name} = "{value}"' for name, value in words.items()]
    lines += [f'{name.replace("-", "_")} = "/etc/{name}"' for name in paths]
    lines += [f"{name} = {value}" for name, value in numbers.items()]
    lines += [f"{name} = true" for name in switches]
    lines.append('task = ["a", "b"]')
    typed = [word for name, value in words.items() for word in (f"--{name}", value)]
    typed += [word for name in paths for word in (f"--{name}", f"/etc/{name}")]
    typed += [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    typed += [f"--{name}" for name in switches]
    typed += ["--task", "a", "--task", "b"]
    file = written(tmp_path, "\n".join(lines))
    from_file = vars(parsed("-c", file))
    assert from_file.pop("config") == file
    wanted = vars(parsed(*typed))
    del wanted["config"]
    assert from_file == wanted
    unset = set(wanted) - {option.replace("-", "_") for option in (*words, *paths, *numbers)}
    assert unset == {*switches, "task"}, "an option that no file was tried with"


@pytest.mark.parametrize("before", [True, False])
def test_the_command_line_wins_wherever_it_stands(tmp_path: Path, before: bool) -> None:
    text = f'{NEEDED}speed = 2\noutput = "file"\nlog_level = "error"\n'
    file = ["-c", written(tmp_path, text)]
    # One of them says what is the default anyway.
    words = ["--task", "mine", "--task", "too", "--output", "-", "--log-level", "info"]
    args = parsed(*words, *file) if before else parsed(*file, *words)
    assert args.task == ["mine", "too"]
    assert (args.output, args.log_level, args.speed) == (["-"], "info", 2.0)


def test_what_neither_says_is_the_default_or_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = parsed(f"--config={written(tmp_path, NEEDED)}")
    assert (args.label_delay, args.follow, args.task) == (5.0, False, ["t"])
    with pytest.raises(SystemExit):
        parsed("-c", written(tmp_path, 'task = "t"\ndevice = "d"'))
    assert "are required: --broker, --source" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('policy = "owner.toml"', {"policy": "{folder}/owner.toml"}),
        ('state = "~/memory"', {"state": "{home}/memory"}),
        ('ca = "/etc/ca.crt"', {"ca": "/etc/ca.crt"}),
        ('output = "served.jsonl"', {"output": ["{folder}/served.jsonl"]}),
        ('output = ["unix:served.sock", "-"]', {"output": ["unix:{folder}/served.sock", "-"]}),
        ('output = "mqtt:fsir/kitchen"', {"output": ["mqtt:fsir/kitchen"]}),
        ('source = "csv:a.csv"', {"source": "csv:{folder}/a.csv"}),
        ('source = "signals:~/walk.csv"', {"source": "signals:{home}/walk.csv"}),
        ('source = "jsonl:-"', {"source": "jsonl:-"}),
        ('source = "mqtt:a/b"', {"source": "mqtt:a/b"}),
        ('task = ["task.toml", "name"]', {"task": ["{folder}/task.toml", "name"]}),
        ('labels = "topic:a/b"', {"labels": "topic:a/b"}),
        ('device = "agent.toml"', {"device": "agent.toml"}),
    ],
)
def test_paths_are_relative_to_the_file(
    line: str, expected: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    key = line.partition(" ")[0]
    others = "".join(one for one in NEEDED.splitlines(True) if not one.startswith(key))
    args = parsed("-c", written(tmp_path, f"{others}{line}\n"))
    for name, value in expected.items():
        texts = [value] if isinstance(value, str) else value
        wanted = [text.format(folder=tmp_path, home="/home/me") for text in texts]
        assert getattr(args, name) == (wanted[0] if isinstance(value, str) else wanted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("polcy = 'x'", "polcy = 'x': unknown field; did you mean 'policy'?"),
        ("time_colum = 'x'", "time-colum = 'x': unknown field; did you mean 'time-column'?"),
        ("password = 'x'", "password = 'x': unknown field; did you mean 'password-file'?"),
        ("config = 'x'", "config = 'x': unknown field; known fields: acc-range, broker, "),
        ("[login]\nca = 'x'", "login = {'ca': 'x'}: unknown field; "),
        ("speed = 'fast'", "speed = 'fast': must be a finite number"),
        ("follow = 'yes'", "follow = 'yes': must be true or false"),
        ("device = 7", "device = 7: must be a text in quotes"),
        ("task = []\nlabels = ['a']", "labels = ['a']: must be a text in quotes"),
        ("task = ['a', 7]", "task = 7: must be a text in quotes"),
        ("log-level = 'loud'", "log-level = 'loud': must be one of debug, info, warning, error"),
        ("log-level = 'info'\nlog_level = 'info'", "a key is given twice, once with - and once "),
        ("speed = ", "not valid TOML: "),
    ],
)
def test_mistakes_are_named(text: str, said: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(FsirError) as caught:
        parsed("-c", file)
    assert str(caught.value).startswith(f"config file {file}: {said}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FsirError, match="No such file or directory; give the path of a TOML"):
        parsed("-c", str(tmp_path / "none.toml"))
    with pytest.raises(FsirError, match="Is a directory"):
        parsed("-c", str(tmp_path))


def test_options_of_any_type_are_read_as_on_the_command_line(tmp_path: Path) -> None:
    def even(text: str) -> int:
        if int(text) % 2:
            raise argparse.ArgumentTypeError(f"{text} is odd")
        return int(text)

    def read(text: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        add_config(parser)
        parser.add_argument("--pairs", type=even)
        parser.add_argument("--count", type=int, required=True)
        words = ["-c", written(tmp_path, text)]
        prepare(parser, words)
        return parser.parse_args(words)

    args = read("pairs = 4\ncount = 3")
    assert (args.pairs, args.count) == (4, 3)
    with pytest.raises(FsirError, match="pairs = 5: 5 is odd"):
        read("pairs = 5\ncount = 3")
    with pytest.raises(FsirError, match=r"count = 1\.5: must be a whole number"):
        read("count = 1.5")


def test_the_example_says_what_it_seems_to_say() -> None:
    args = parsed("-c", str(EXAMPLE))
    folder = EXAMPLE.parent
    assert args.task == [str(folder / "task.toml")]
    assert args.source == f"csv:{folder / 'readings.csv'}"
    assert (args.cert, args.key) == (str(folder / "device.crt"), str(folder / "device.key"))
    assert args.output == [str(folder / "served.jsonl")]
    assert args.follow is True
