"""What all tests share."""

import gc
import multiprocessing
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests.waiting import LIMIT_S, wait_until

# Timing is measured in benchmarks/, never asserted; CI must give the same answer twice.
for name, examples in {"quick": 20, "thorough": 300}.items():
    settings.register_profile(name, deadline=None, derandomize="CI" in os.environ, max_examples=examples)
settings.load_profile("quick")  # --hypothesis-profile=thorough comes after this

gc.disable()  # until everything is collected


def pytest_collection_finish():
    """Spare the garbage collector what was collected: thousands of tests, and all that they import."""
    gc.collect()
    gc.freeze()
    gc.unfreeze = lambda: None  # a program that runs here would make every later collection slow again
    gc.enable()


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(20_250_101)


@pytest.fixture
def leaves_no_processes():
    """Fail if a test leaves processes behind; those of the cluster come and go."""
    yield
    assert not [each for each in multiprocessing.active_children() if not each.name.startswith("Dask")]


@pytest.fixture
def warm_processes(monkeypatch):
    """Workers are copies of a process that has read what they need; those that died restart at once."""
    monkeypatch.setattr("isogloss.service.worker._worker_process.RESTART_DELAY_S", 0.0)
    new = multiprocessing.get_context
    server = new("forkserver")
    server.set_forkserver_preload(["tests.service.warm"])
    monkeypatch.setattr(
        multiprocessing, "get_context", lambda method=None: server if method == "spawn" else new(method)
    )


@pytest.fixture(scope="session")
def dask_cluster():
    """A Dask cluster of two processes, for all tests; it never gives up a worker that was killed."""
    pytest.importorskip("distributed")
    import dask
    from distributed import Client, LocalCluster

    idle = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "10s",
    }  # or else its processes are never idle, for as long as the tests run
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"} | idle),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def dask_client(dask_cluster):
    """The client of the cluster, when it is whole again after a test that killed its workers."""
    from distributed import Status

    cluster = dask_cluster.cluster

    def whole():
        nannies = cluster.workers.values()
        known = set(cluster.scheduler.workers) == {nanny.worker_address for nanny in nannies}
        return known and all(nanny.status is Status.running and nanny.is_alive() for nanny in nannies)

    wait_until(whole)
    return dask_cluster


@pytest.fixture(scope="session")
def postgres_server():
    """The URL of a PostgreSQL that only these tests see; it listens on a socket in its own folder."""
    from tools.private_postgres import PrivatePostgres, programs

    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: initdb is not in the test group's wheel nor on the PATH")
    place = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        started = PrivatePostgres(folder, place, "-c fsync=off").make()
        started.start()
        yield started.url
        started.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server, tmp_path):
    """An empty schema on the server."""
    from isogloss.store import PostgresDatabase

    name = "t" + tmp_path.name.replace("-", "_")[:40]
    database = PostgresDatabase(postgres_server, schema=name, connections=4)
    yield database
    with database.write() as session:
        session.run(f"DROP SCHEMA {name} CASCADE")
    database.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """An empty database, in SQLite and in PostgreSQL."""
    from isogloss.store import SQLiteDatabase

    if request.param == "sqlite":
        database = SQLiteDatabase(tmp_path / "news.db", busy_timeout=LIMIT_S)
        yield database
        database.close()
        return
    yield request.getfixturevalue("postgres")
