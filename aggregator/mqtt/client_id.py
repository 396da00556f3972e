"""The name under which a broker keeps the session of an aggregator."""

from __future__ import annotations

import secrets

from aggregator.store.base import Store

FIRST_NAME = "fsir-aggregator"  # of every aggregator of version 0.1
_SETTING = "worker"
_RANDOM_BYTES = 3  # with the rest 22 characters: every broker takes 23


def client_id(store: Store) -> str:
    """The name that belongs to a store: another one for each, the same after every restart.

    A store that has been served already, by version 0.1, keeps the name of its session: reports may
    wait in it.
    """
    with store.transaction():
        name = store.setting(_SETTING)
        if name is None:
            new = f"{FIRST_NAME}-{secrets.token_hex(_RANDOM_BYTES)}"
            name = FIRST_NAME if store.tasks() else new
            store.put_setting(_SETTING, name)
    return name
