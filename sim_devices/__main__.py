"""`python -m sim_devices` is `fsir-sim`."""

from __future__ import annotations

import sys

from sim_devices.cli import main

if __name__ == "__main__":
    sys.exit(main())
