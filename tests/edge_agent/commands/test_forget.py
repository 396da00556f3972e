"""`fsir-agent forget`: what was learned goes, the ledger stays."""

from __future__ import annotations

import json

from edge_agent.cli import main


def test_forget(lived, capsys):
    assert main(["forget", "--state", str(lived), "--task", "busy"]) == 0
    main(["status", "--json", "--state", str(lived)])
    tasks = json.loads(capsys.readouterr().out.splitlines()[-1])["tasks"]
    assert next(entry for entry in tasks if entry["task"] == "busy")["records"] == 0
    assert main(["forget", "--json", "--state", str(lived), "--unpin"]) == 0
    assert json.loads(capsys.readouterr().out)["forgotten"] == ["busy", "done"]
    main(["ledger", "--json", "--state", str(lived)])
    assert len(json.loads(capsys.readouterr().out)["releases"]) == 1
