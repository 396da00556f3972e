"""So many virtual devices with a hundred records each, from the start of the broker to the
subspace that counts them all, in this process and its children."""

import contextlib
import io
import json
import sys

from sim_devices.cli import main

command = ["fleet", "--devices", sys.argv[1], "--records", "100", "--json"]
with contextlib.redirect_stdout(io.StringIO()) as said:
    main([*command, "--broker", sys.argv[2]])
table = json.loads(said.getvalue().splitlines()[-1])
assert table["reports_counted"] == int(sys.argv[1]), table
print(
    json.dumps(
        {
            "seconds": table["seconds"],
            "memory": table["simulator_mb"],
            "counted": table["reports_counted"],
            "retries": table["retries"],
        }
    )
)
