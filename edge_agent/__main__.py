"""`python -m edge_agent` is `fsir-agent`."""

from __future__ import annotations

import sys

from edge_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
