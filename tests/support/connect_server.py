"""A Spark Connect server on the loopback, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SECONDS = 180
ROOT = Path(__file__).parents[2]


@contextmanager
def connect_server(folder: Path, workers: str = sys.executable) -> Iterator[str]:
    """The address of a server that runs inside the block; its log is in the folder.

    `workers` is the Python that its workers run; they import figs_spark from this checkout.
    """
    port = _free_port()
    command = [
        str(Path(sys.executable).parent / "spark-submit"),
        *("--class", SERVER, "--master", "local[2]"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.ui.enabled=false"),
        *("--conf", f"spark.sql.warehouse.dir={folder}/warehouse"),
        "spark-internal",
    ]
    log = folder / "server.log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=file,
            stderr=file,
            env=_environment(workers),
            start_new_session=True,
        )
    try:
        _wait(process, port, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment(workers: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYSPARK_GATEWAY")}
    own = {"PYSPARK_PYTHON": workers, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    return kept | own


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise RuntimeError(f"The Connect server did not start:\n{log.read_text(encoding='utf-8')}")
