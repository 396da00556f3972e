"""Command lines as people type them: typical ones, and typical mistakes."""

from __future__ import annotations

# Each is typed in a folder of its own, with copies of all golden files.
AGENT = {
    "agent-check": "fsir-agent check --task plain.toml --policy owner.toml",
    "agent-check-screening": "fsir-agent check --task dense.toml",
    "agent-check-deadline": "fsir-agent check --task deadline.toml --policy owner.toml",
    "agent-check-refused": "fsir-agent check --task greedy.toml --policy strict.toml",
    "agent-check-unproven": "fsir-agent check --task vgm.toml --json",
    "agent-check-spent": "fsir-agent check --task numeric.toml --state serving --policy four.toml",
    "agent-check-no-file": "fsir-agent check --task nothing.toml",
    "agent-check-no-task": "fsir-agent check --task public.csv",
    "agent-check-no-policy": "fsir-agent check --task plain.toml --policy misspelt.toml",
    "agent-status-learning": "fsir-agent status --state learning",
    "agent-status-screened": "fsir-agent status --state screened",
    "agent-status-reported": "fsir-agent status --state reported --policy owner.toml",
    "agent-status-serving": "fsir-agent status --state serving",
    "agent-status-json": "fsir-agent status --state serving --json",
    "agent-status-nowhere": "fsir-agent status --state nowhere",
    "agent-ledger": "fsir-agent ledger --state serving",
    "agent-ledger-empty": "fsir-agent ledger --state learning",
    "agent-ledger-json": "fsir-agent ledger --state reported --json",
    "agent-label": "fsir-agent label walk --state learning",
    "agent-label-json": "fsir-agent label sit --state serving --at 1750000000 --for 60 --json",
    "agent-label-clear": "fsir-agent label --clear --state learning --since 20",
    "agent-label-unknown": "fsir-agent label fly --state learning",
    "agent-label-nothing": "fsir-agent label --state learning",
    "agent-features": "fsir-agent features walk.csv --acc-range 8 --gyro-range 34.9",
    "agent-features-no-file": "fsir-agent features nothing.csv --acc-range 8 --gyro-range 35",
    "agent-features-no-range": "fsir-agent features walk.csv",
    "agent-forget": "fsir-agent forget --state learning",
    "agent-forget-unpin": "fsir-agent forget --state serving --task votes --unpin --json",
    "agent-forget-pending": "fsir-agent forget --state reported --task dense --unpin",
    "agent-forget-unknown": "fsir-agent forget --state learning --task nothing",
}
_RUN = "fsir-agent run --task plain --device dev-1 --state serving"
RUN = {
    "agent-run-nothing": "fsir-agent run",
    "agent-run-source": f"{_RUN} --broker mqtt://127.0.0.1 --source readings.csv",
    "agent-run-scheme": f"{_RUN} --broker mqtt://127.0.0.1 --source smoke:signals",
    "agent-run-no-file": f"{_RUN} --broker mqtt://127.0.0.1 --source csv:nothing.csv",
    "agent-run-broker": f"{_RUN} --broker 127.0.0.1:1883 --source csv:dev-1.csv",
    "agent-run-password": f"{_RUN} --broker mqtt://a:b@127.0.0.1 --source csv:dev-1.csv",
    "agent-run-labels": f"{_RUN} --broker mqtt://127.0.0.1 --source mqtt:t --labels shout",
    "agent-run-label-topic": f"{_RUN} --broker mqtt://127.0.0.1 --source mqtt:t --labels topic:a",
    "agent-run-phone": f"{_RUN} --broker mqtt://127.0.0.1 --source sensorlogger:mqtt:phone",
    "agent-run-twice": f"{_RUN} --task plain --broker mqtt://127.0.0.1 --source csv:dev-1.csv",
    "agent-run-speed": f"{_RUN} --broker mqtt://127.0.0.1 --source csv:dev-1.csv --speed 2",
    "agent-run-simulated": f"{_RUN} --broker mqtt://127.0.0.1 --source csv:dev-1.csv",
    "agent-run-device": f"{_RUN} --broker mqtt://127.0.0.1 --source csv:dev-1.csv --device dev-2",
}
_STORE = "--store sqlite:reports.db"
_SUBSPACE = f"fsir-aggregator subspace {_STORE}"
_NEW = "fsir-aggregator task new --sample public.csv"
_SERVE = f"fsir-aggregator serve {_STORE}"
AGGREGATOR = {
    "aggregator-status": f"fsir-aggregator status {_STORE}",
    "aggregator-status-recount": f"fsir-aggregator status {_STORE} --recount --task dense",
    "aggregator-status-json": f"fsir-aggregator status {_STORE} --recount --json",
    "aggregator-status-nowhere": "fsir-aggregator status --store sqlite:nowhere.db",
    "aggregator-status-address": "fsir-aggregator status --store reports.db",
    "aggregator-status-unknown": f"fsir-aggregator status {_STORE} --task nothing",
    "aggregator-devices": f"fsir-aggregator devices {_STORE}",
    "aggregator-devices-json": f"fsir-aggregator devices {_STORE} --task plain --json",
    "aggregator-refused": f"fsir-aggregator refused {_STORE}",
    "aggregator-refused-json": f"fsir-aggregator refused {_STORE} --limit 3 --json",
    "aggregator-subspace-json": f"{_SUBSPACE} --task plain",
    "aggregator-subspace-csv": f"{_SUBSPACE} --task votes --format csv",
    "aggregator-subspace-npz": f"{_SUBSPACE} --task numeric --format npz --output out.npz",
    "aggregator-subspace-which": f"{_SUBSPACE}",
    "aggregator-withdraw": f"fsir-aggregator withdraw dev-2 {_STORE}",
    "aggregator-withdraw-json": f"fsir-aggregator withdraw dev-3 {_STORE} --task dense --json",
    "aggregator-withdraw-unknown": f"fsir-aggregator withdraw dev-77 {_STORE} --task plain",
    "aggregator-check": "fsir-aggregator task check plain.toml",
    "aggregator-check-votes": "fsir-aggregator task check votes.toml --devices 5,50",
    "aggregator-check-trimmed": "fsir-aggregator task check trimmed.toml --signal 0.5",
    "aggregator-check-unproven": "fsir-aggregator task check none.toml --devices 5",
    "aggregator-check-json": "fsir-aggregator task check coded.toml --devices 20 --json",
    "aggregator-check-no-file": "fsir-aggregator task check nothing.toml",
    "aggregator-check-misspelt": "fsir-aggregator task check misspelt.toml",
    "aggregator-check-devices": "fsir-aggregator task check plain.toml --devices ten",
    "aggregator-new": f"{_NEW} --plain --response activity --name fresh",
    "aggregator-new-keep": f"{_NEW} --plain --response activity --keep 2 --output new.toml",
    "aggregator-new-number": f"{_NEW} --plain --response delay --slices 4 --features acc_x,gyro",
    "aggregator-new-response": f"{_NEW} --response mood",
    "aggregator-new-no-file": "fsir-aggregator task new --sample nothing.csv --response activity",
    "aggregator-serve-no-file": f"{_SERVE} --broker mqtt://host --task nothing.toml",
    "aggregator-serve-broker": f"{_SERVE} --broker 127.0.0.1 --task plain.toml",
    "aggregator-serve-changed": f"{_SERVE} --broker mqtt://host --task changed.toml --log json",
    "aggregator-serve-debounce": f"{_SERVE} --broker mqtt://host --task plain.toml --debounce -1",
    "aggregator-serve-mqtt": f"{_SERVE} --broker mqtt://host --task plain.toml --mqtt 4",
}
SIM = {
    "sim-nothing": "fsir-sim",
    "sim-unknown": "fsir-sim mnist",
    "sim-har-nowhere": "fsir-sim har --data nowhere",
    "sim-hapt-nowhere": "fsir-sim hapt --data nowhere",
    "sim-watch-nowhere": "fsir-sim watch --data nowhere.npy",
    "sim-flights-nowhere": "fsir-sim flights --data nowhere.zip",
    "sim-model-delta": "fsir-sim model --devices 2 --records 20 --delta tiny",
    "sim-model-broker": "fsir-sim model --devices 2 --records 20 --broker smoke-signals",
    "sim-model-devices": "fsir-sim model --devices none",
    "sim-fetch-unknown": "fsir-sim fetch mnist",
    "sim-worth-unknown": "fsir-sim worth --sets har,mnist",
    "sim-worth-nowhere": "fsir-sim worth --sets har,hapt",
    "sim-table": "fsir-sim table --model I --n 200 --reps 2 --json",
    "sim-table-reps": "fsir-sim table --model I --reps 0",
    "sim-audit": "fsir-sim audit --mechanism gaussian --pair A --n 20 --p 2 --json",
    "sim-audit-unknown": "fsir-sim audit --mechanism hope",
    "sim-attack-nowhere": "fsir-sim attack --data nowhere.csv",
    "sim-poison-liars": "fsir-sim poison --liars 0.7",
}
TYPED = AGENT | RUN | AGGREGATOR | SIM

# Numbers in these come from logarithms and linear algebra: six digits of them are golden.
ROUNDED = {
    "agent-status-json",
    "agent-ledger-json",
    "aggregator-check-json",
    "sim-table",
    "sim-audit",
}

_PARTS = {
    "fsir-agent": ["run", "check", "status", "ledger", "label", "features", "forget"],
    "fsir-aggregator": [
        *["serve", "status", "subspace", "refused", "devices", "withdraw", "task"],
        *["task check", "task new"],
    ],
    "fsir-sim": [
        *["demo", "har", "hapt", "synthetic-har", "watch", "flights", "model", "fleet", "fetch"],
        *["worth", "table", "tables", "ablation", "figures", "audit", "attack", "poison"],
    ],
}
HELP = {
    "-".join(["help", *f"{program} {part}".split()]): f"{program} {part} --help"
    for program, parts in _PARTS.items()
    for part in ["", *parts]
}
