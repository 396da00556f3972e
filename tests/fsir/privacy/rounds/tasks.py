"""A small task with rounds."""

from fsir.contract import task_from_table


def small_task(rounds, records=100, **sections):
    return task_from_table(
        {
            "name": "stream",
            "features": {"names": ["a", "b"]},
            "response": {"classes": ["no", "yes"]},
            "clip": {"truncate": 2, "norm": 2.5},
            "privacy": {"epsilon": 1},
            "report": {"records": records, "rounds": rounds},
            **sections,
        }
    )
