"""A fleet in several processes: each plays its share, and all of them are told of as one."""

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from edge_agent.agent import Phase
from sim_devices.network.fleet.fleet import Fleet
from sim_devices.network.fleet.tally import Tally
from sim_devices.network.fleet.workers import WorkerError, Workers

SHARES = ((0, 2, 4), (1, 3))


class Share(Fleet):
    """Some devices that need no broker: all have their answer at once, and every third is out."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.size = len(numbers)

    @property
    def accepted(self) -> int:
        return sum(number % 3 > 0 for number in self.numbers)

    def run(
        self, finished: Callable[[], bool], seconds: float, progress: Callable[[int], None]
    ) -> bool:
        while not finished():
            progress(self.size)
            time.sleep(0.01)
        return True

    def tally(self) -> Tally:
        return Tally(
            phases=Counter({Phase.SERVING: self.accepted, Phase.STOPPED: self.size}),
            reasons=(f"out of {self.size}",),
            bytes_sent=10 * self.size,
            retries=sum(self.numbers),
            cuts=1,
            crashes=0,
            memory=os.getpid(),
        )

    def close(self) -> None:
        pass


class Broken(Share):
    """Its second process ends at once."""

    def run(self, *arguments: object) -> bool:
        if 1 in self.numbers:
            os._exit(3)
        return super().run(*arguments)  # type: ignore[arg-type]


def nothing(done: int) -> None:
    pass


def test_all_are_told_of_as_one() -> None:
    workers = Workers(Share, SHARES)
    assert workers.run(lambda: workers.done == workers.size, 20.0, nothing)
    assert (workers.size, workers.done, workers.accepted) == (5, 5, 3)
    workers.close()
    told = workers.tally()
    assert told.phases == Counter({Phase.SERVING: 3, Phase.STOPPED: 5})
    assert told.reasons == ("out of 3", "out of 2")
    assert (told.bytes_sent, told.retries, told.cuts, told.crashes) == (50, 10, 2, 0)


def test_each_share_has_a_process_of_its_own_that_ends() -> None:
    workers = Workers(Share, SHARES)
    workers.close()
    pids = [process.pid for process in workers._processes]
    assert workers.tally().memory == sum(pid or 0 for pid in pids)
    assert len({os.getpid(), *pids}) == 3
    assert [process.exitcode for process in workers._processes] == [0, 0]


def test_what_takes_too_long_is_given_up() -> None:
    workers = Workers(Share, SHARES)
    assert not workers.run(lambda: False, 0.1, nothing)
    workers.close()


def test_a_process_that_ends_is_noticed() -> None:
    workers = Workers(Broken, SHARES)
    with pytest.raises(WorkerError, match="ended with status 3"):
        workers.run(lambda: False, 60.0, nothing)
    workers.close()
    assert workers.tally().retries == 6


def test_workers_end_when_nobody_listens_any_more() -> None:
    workers = Workers(Share, SHARES)
    for line in workers._lines:
        line.close()
    for process in workers._processes:
        process.join(20.0)
    assert [process.exitcode for process in workers._processes] == [0, 0]
