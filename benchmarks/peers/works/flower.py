"""Two rounds of Flower's simulation: each client sends the moments of its records, the server adds
them up. The first round includes the start of everything; nothing after the second is counted."""

import json
import logging
import resource
import sys
import time

START = time.time()

import numpy as np  # noqa: E402
from flwr.app import ArrayRecord, Context, Message, RecordDict  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.serverapp import Grid, ServerApp  # noqa: E402
from flwr.simulation import run_simulation  # noqa: E402

DEVICES = int(sys.argv[1])
RECORDS, FEATURES, SLICES = 100, 10, 8
CORES = 2
logging.getLogger("flwr").setLevel(logging.ERROR)
client = ClientApp()
server = ServerApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    """The moments of a hundred records."""
    rng = np.random.default_rng(context.node_id % 2**32)
    X = rng.normal(size=(RECORDS, FEATURES))
    one_hot = np.eye(SLICES)[rng.integers(SLICES, size=RECORDS)]
    arrays = ArrayRecord([X.T @ X, X.T @ one_hot, one_hot.sum(axis=0)])
    return Message(content=RecordDict({"moments": arrays}), reply_to=message)


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Ask all, twice."""
    times = []
    while len(nodes := list(grid.get_node_ids())) < DEVICES:
        time.sleep(0.02)
    for _ in range(2):
        began = time.time()
        asked = [Message(RecordDict(), node, "train") for node in nodes]
        replies = list(grid.send_and_receive(asked))
        sums = [reply.content["moments"].to_numpy_ndarrays() for reply in replies]
        S, _, n = (sum(parts) for parts in zip(*sums, strict=True))
        np.linalg.eigh(S / n.sum())
        assert len(replies) == DEVICES, len(replies)
        assert n.sum() == RECORDS * DEVICES, n
        times.append((began, time.time()))
    said = {"cold": times[0][1] - START, "warm": times[1][1] - times[1][0]}
    said["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(json.dumps(said), flush=True)


resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0}, "init_args": {"num_cpus": CORES}}
run_simulation(server, client, DEVICES, backend_config=resources)
