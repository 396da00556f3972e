"""`python -m sim_devices` is `fsir-sim`."""

from sim_devices.cli import main

raise SystemExit(main())
