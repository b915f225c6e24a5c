#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores pictures on two worker processes, kills one of them halfway, and compares with one process.

python3 examples/dask/score.py [MODEL], by default models/shapes.onnx; needs stowage[dask].
Exit status: 0 every result is there once and has the same bits, 1 otherwise."""

import os
import pathlib
import signal
import sys
import time

import numpy as np
from distributed import Client, LocalCluster

import stowage
from stowage.dask import map_batches

MODEL = pathlib.Path(__file__).parents[2] / "models/shapes.onnx"
PICTURES, BATCH = 240, 8


def picture(number: int) -> np.ndarray:
    """Stands for a file that is read and decoded; slowly, so that there is a halfway."""
    time.sleep(0.002)
    return np.random.default_rng(number).uniform(0, 1, (3, 64, 64)).astype(np.float32)


def main() -> int:
    path = sys.argv[1] if len(sys.argv) > 1 else MODEL
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        workers = set(client.run(os.getpid).values())
        print(f"two workers: processes {sorted(workers)}")
        victims = sorted(workers)[:1]

        def watch(done: int, total: int | None) -> None:
            if victims and done >= PICTURES // 2:
                victim = victims.pop()
                os.kill(victim, signal.SIGKILL)
                print(f"lost a worker (process {victim}) after {done} of {total}")

        scores = list(map_batches(path, range(PICTURES), batch=BATCH, load=picture, progress=watch))
        print(f"{len(scores)} results")
        now = set(client.run(os.getpid).values())
        print(f"workers now: {sorted(now)}, of which {len(now & workers)} were there from the start")

    model = stowage.load(path, threads=1)
    pictures = np.stack([picture(i) for i in range(PICTURES)])
    single = np.concatenate([model(pictures[i : i + BATCH]) for i in range(0, PICTURES, BATCH)])
    if len(scores) != PICTURES or np.stack(scores).tobytes() != single.tobytes():
        print("results are missing, double or different")
        return 1
    print("every result is there once, with the bits of a single process")
    return 0


if __name__ == "__main__":
    sys.exit(main())
