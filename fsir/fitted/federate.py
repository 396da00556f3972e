"""A federation of the people in a table, played on this machine: the simulator's, by its name."""

from __future__ import annotations

from typing import Any

from fsir.fitted import door


def federate(frame: Any, response: str, by: str, **options: Any) -> Any:
    """Play a federation with the records of a table, each person a device, and return its subspace.

    Nothing leaves this machine: it shows what a federation of such people would give, and what it
    is worth beside the controls.

    Parameters
    ----------
    frame
        A pandas DataFrame: one row for each record, one column for each feature.
    response
        The column that is to be explained: labels, or a number.
    by
        The column that says whose record it is: each of them is a device.
    **options
        `epsilon`, what each device spends, and whatever else
        `sim_devices.own.federate.federate_parts` takes.

    Returns
    -------
    A named tuple: `subspace`, an `fsir.Subspace`, and `controls`, what it is held against.

    Raises
    ------
    FsirError
        Also where the simulator is not installed: `pip install 'fsir-edge[sim]'`.

    Examples
    --------
    >>> import fsir
    >>> subspace, controls = fsir.federate(
    ...     frame, response="activity", by="person", epsilon=1.0
    ... )  # doctest: +SKIP
    """
    return door.call("federate", frame, response=response, by=by, **options)
