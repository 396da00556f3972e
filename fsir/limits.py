"""How large anything may be that comes from outside; every reader and writer uses these."""

from __future__ import annotations

import re

MAX_FEATURES = 20_000
MAX_SLICES = 256
MAX_RECORDS = 2**25 - 1  # in a report: so many squares of 2^14 steps still add up below 2^53
MAX_ROUNDS = 1000  # of reports of one device in one task
MAX_VALUES = 2**21  # in one report: at 16 bits each they fill the largest message
TASK_BYTES = 4 * 2**20  # of the task on the wire: what every device must be able to read
KEPT_RECORDS_BYTES = 64 * 2**20  # what a device may hold of its own records between two stages
ID_BYTES = 16  # of a report's identity
MOST_IN_COHORT = 10_000  # devices whose sum is opened together
INSTANCE_BYTES = 16  # of the number by which copies of a device are told apart
DEVICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")  # one level of a topic, no wildcards
# Bytes that a receiver looks at, by kind; the task and the subspace of 20,000 features fit.
LIMITS = {
    "task": TASK_BYTES,
    "report": 4 * 2**20,
    "ask": 256,
    "receipt": 4096,
    "active": TASK_BYTES + 1024,  # names of the task, and who says so
    "subspace": 16 * 2**20,
    "presence": 256,
    "shared": 4 * 2**20,
    "cohort": 4 * 2**20 + 16 * MOST_IN_COHORT + 1024,  # a sum, the reports in it, and who says so
}
MAX_EPSILON = 1000.0  # of a task: more protects nobody
MAX_DELTA = 0.1
