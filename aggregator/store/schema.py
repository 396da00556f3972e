"""The tables of a store, format by format: a file of an earlier one gets what came later."""

from __future__ import annotations

# Every file keeps the text of its tables: a new line here would be another file.
_REPORTS = """
CREATE TABLE task (key INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, name TEXT NOT NULL, epoch \
INTEGER NOT NULL,
    body BLOB NOT NULL, added REAL NOT NULL);
CREATE TABLE report (seq INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task, device TEXT \
NOT NULL,
    stage TEXT NOT NULL, id BLOB NOT NULL, n INTEGER NOT NULL, raw BLOB, at REAL NOT NULL,
    UNIQUE (task, device, stage));
CREATE TABLE withdrawn (task INTEGER NOT NULL REFERENCES task, device TEXT NOT NULL, at REAL NOT \
NULL,
    PRIMARY KEY (task, device)) WITHOUT ROWID;
CREATE TABLE totals (task INTEGER NOT NULL REFERENCES task, stage TEXT NOT NULL, devices INTEGER \
NOT NULL,
    records INTEGER NOT NULL, change INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (task, \
stage));
CREATE TABLE published (task INTEGER NOT NULL REFERENCES task, kind TEXT NOT NULL, body BLOB NOT \
NULL,
    version INTEGER NOT NULL, change INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (task, kind));
CREATE TABLE refused (seq INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, device TEXT NOT \
NULL,
    stage TEXT NOT NULL, id BLOB NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, length \
INTEGER NOT NULL,
    raw BLOB NOT NULL, at REAL NOT NULL);
CREATE TABLE refused_count (task TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (task, reason)) WITHOUT ROWID;
"""
# The number that holds for each device that has asked; see `aggregator.asking`.
_INSTANCES = """
CREATE TABLE instances (task INTEGER NOT NULL REFERENCES task, device TEXT NOT NULL, number BLOB \
NOT NULL,
    PRIMARY KEY (task, device)) WITHOUT ROWID;
"""
# What an operator wants to know: how the estimate has grown, and who is expected. `readmitted` has
# those who were withdrawn by mistake, and the ids of their deleted reports: the same bytes may come
# again. A stage without a name stands for no report.
_OPERATIONS = """
CREATE TABLE version (task INTEGER NOT NULL REFERENCES task, version INTEGER NOT NULL, at REAL NOT \
NULL,
    devices INTEGER NOT NULL, records INTEGER NOT NULL, dimension INTEGER NOT NULL, expected_error \
REAL NOT NULL,
    expected_accuracy REAL, angle REAL, forecast_error REAL, forecast_accuracy REAL,
    PRIMARY KEY (task, version)) WITHOUT ROWID;
CREATE TABLE roster (task TEXT NOT NULL, device TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (task, device)) WITHOUT ROWID;
CREATE TABLE readmitted (task INTEGER NOT NULL REFERENCES task, device TEXT NOT NULL, stage TEXT \
NOT NULL,
    id BLOB NOT NULL, PRIMARY KEY (task, device, stage)) WITHOUT ROWID;
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX report_at ON report (task, stage, at);
CREATE INDEX refused_task ON refused (task);
"""
# Rounds: a report, its totals and its deletion belong to one. `raw` is empty where only the totals
# still have it. `taken` has for each device, and `pattern` for each set of rounds how many devices
# there are whose rounds in the totals are exactly these (`aggregator.rounds.sets`); both only where
# a task has several.
_ROUNDS = """
CREATE TABLE report_of_round (seq INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task,
    device TEXT NOT NULL, stage TEXT NOT NULL, round INTEGER NOT NULL DEFAULT 1, id BLOB NOT NULL,
    n INTEGER NOT NULL, raw BLOB, at REAL NOT NULL, UNIQUE (task, device, stage, round));
INSERT INTO report_of_round SELECT seq, task, device, stage, 1, id, n, raw, at FROM report;
DROP TABLE report;
ALTER TABLE report_of_round RENAME TO report;
CREATE INDEX report_at ON report (task, stage, at);
CREATE TABLE totals_of_round (task INTEGER NOT NULL REFERENCES task, stage TEXT NOT NULL,
    round INTEGER NOT NULL DEFAULT 1, devices INTEGER NOT NULL, records INTEGER NOT NULL,
    change INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (task, stage, round));
INSERT INTO totals_of_round SELECT task, stage, 1, devices, records, change, data FROM totals;
DROP TABLE totals;
ALTER TABLE totals_of_round RENAME TO totals;
CREATE TABLE readmitted_round (task INTEGER NOT NULL REFERENCES task, device TEXT NOT NULL,
    stage TEXT NOT NULL, round INTEGER NOT NULL DEFAULT 1, id BLOB NOT NULL,
    PRIMARY KEY (task, device, stage, round)) WITHOUT ROWID;
INSERT INTO readmitted_round SELECT task, device, stage, 1, id FROM readmitted;
DROP TABLE readmitted;
ALTER TABLE readmitted_round RENAME TO readmitted;
CREATE TABLE taken (task INTEGER NOT NULL REFERENCES task, stage TEXT NOT NULL,
    device TEXT NOT NULL, rounds TEXT NOT NULL, PRIMARY KEY (task, stage, device)) WITHOUT ROWID;
CREATE TABLE pattern (task INTEGER NOT NULL REFERENCES task, stage TEXT NOT NULL,
    rounds TEXT NOT NULL, devices INTEGER NOT NULL, PRIMARY KEY (task, stage, rounds))
    WITHOUT ROWID;
ALTER TABLE version ADD COLUMN round INTEGER;
ALTER TABLE version ADD COLUMN moved REAL;
ALTER TABLE version ADD COLUMN drift INTEGER;
"""
# Where two aggregators open sums: reports that wait, ids of what was opened, and the cohorts.
_SHARES = """
CREATE TABLE share (seq INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task, id BLOB NOT \
NULL, device TEXT NOT NULL,
    stage TEXT NOT NULL, round INTEGER NOT NULL, "group" INTEGER NOT NULL,
    proposed INTEGER NOT NULL, UNIQUE (task, id));
CREATE TABLE opened (task INTEGER NOT NULL REFERENCES task, id BLOB NOT NULL, device TEXT NOT NULL,
    stage TEXT NOT NULL, round INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (task, id)) \
WITHOUT ROWID;
CREATE TABLE cohort (key INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task, stage TEXT \
NOT NULL, round INTEGER NOT NULL,
    "group" INTEGER NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL, at REAL NOT NULL, \
devices INTEGER NOT NULL,
    records INTEGER NOT NULL, own BLOB NOT NULL, other BLOB NOT NULL, answer BLOB NOT NULL,
    UNIQUE (task, stage, round, "group", number));
CREATE TABLE noise_key (task INTEGER NOT NULL REFERENCES task, stage TEXT NOT NULL, "group" \
INTEGER NOT NULL,
    number INTEGER NOT NULL, key BLOB NOT NULL, PRIMARY KEY (task, stage, "group", number))
    WITHOUT ROWID;
CREATE INDEX share_pool ON share (task, stage, round, "group");
CREATE INDEX share_device ON share (task, device);
CREATE INDEX opened_device ON opened (task, device);
"""
STEPS = (_REPORTS, _INSTANCES, _OPERATIONS, _ROUNDS, _SHARES)  # the k-th leads to format k
