import numpy as np

from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.correlated import round_noise
from sim_devices.stream.noise import DrawnOnce
from tests.fsir.privacy.rounds.tasks import small_task


def test_drawn_once_is_drawn_the_same():
    stage = first_stage(small_task(6))
    kept = DrawnOnce(1, "device")
    for round in (1, 2, 3, 2, 6):
        plain = round_noise(SeededNoise(1, "device"), stage, round)
        replayed = round_noise(kept, stage, round)
        for count in (4, 2, 1):
            assert np.array_equal(plain.normals(count), replayed.normals(count))
