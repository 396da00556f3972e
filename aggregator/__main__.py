"""`python -m aggregator` is `fsir-aggregator`."""

from __future__ import annotations

import sys

from aggregator.cli import main

if __name__ == "__main__":
    sys.exit(main())
