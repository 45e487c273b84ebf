"""A Spark standalone cluster on the loopback, from the installed pyspark: a master, two workers.

Each runs in a process group of its own, so that all of it, executors included, can be ended.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"
PATIENCE = 300  # seconds until a process must have started; a busy machine is no failure


@dataclass
class Standalone:
    """The running processes."""

    folder: Path
    port: int
    web_port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    def start(self, name: str, main: str, *arguments: str) -> None:
        log = (self.folder / f"{name}.log").open("wb")
        with log:
            self.processes[name] = subprocess.Popen(
                [SPARK_HOME / "bin/spark-class", f"org.apache.spark.deploy.{main}", *arguments],
                cwd=self.folder,
                env=os.environ | {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": LOOPBACK},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start_worker(self, name: str) -> None:
        size = ["--cores", "1", "--memory", "1g", "--webui-port", "0", "--host", LOOPBACK]
        place = ["--work-dir", str(self.folder / name)]
        self.start(name, "worker.Worker", *size, *place, self.url)

    def revive(self) -> None:
        """Start the workers again that were killed."""
        lost = [name for name, process in self.processes.items() if process.poll() is not None]
        for name in lost:
            self.start_worker(name)
        self.await_workers(len(self.processes) - 1)

    def kill(self, name: str) -> None:
        """End a process and what it started, as a power cut would."""
        process = self.processes[name]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def workers(self) -> int:
        """How many workers the master has, by its own account."""
        with urlopen(f"http://{LOOPBACK}:{self.web_port}/json/", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
        return int(found["aliveworkers"])

    def await_workers(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):
                if self.workers() == count:
                    return
            time.sleep(0.2)
        logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
        raise TimeoutError(f"there are not {count} workers after {PATIENCE} s:\n{logs}")


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """A cluster with workers of one core; nothing of it is left at the end."""
    folder.mkdir(parents=True)
    port, web_port = _free_ports(2)
    cluster = Standalone(folder, port, web_port)
    try:
        ports = ["--port", str(cluster.port), "--webui-port", str(cluster.web_port)]
        cluster.start("master", "master.Master", "--host", LOOPBACK, *ports)
        for k in range(workers):
            cluster.start_worker(f"worker{k}")
        cluster.await_workers(workers)
        yield cluster
    finally:
        for name in cluster.processes:
            cluster.kill(name)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; all are taken at once, so that they differ."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    try:
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
