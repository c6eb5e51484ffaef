"""An executor on a Dask cluster (install ``isogloss[dask]``)."""

from __future__ import annotations

import faulthandler
import logging
import threading
import time
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, TypeVar

from distributed import Client, KilledWorker, get_worker
from distributed.comm.core import CommClosedError

from isogloss.engine._executors import Tool, ToolExecutor
from isogloss.exceptions import EngineError
from isogloss.threads import thread_bound

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 10.0
RECONNECT_S = 10.0
POLL_S = 1.0
"""Time between two looks at the workers of the cluster."""

TASK_TIMEOUT_S = 60.0
"""After which a Dask worker that is caught in a task ends itself, for its nanny to start another."""

RESULT_TIMEOUT_S = 90.0
"""After which a task is given up, whatever became of it."""

START_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 5.0


class DaskExecutor(ToolExecutor[I, O]):
    """Runs a tool on the workers of a Dask cluster.

    The connection is made in the background, and made again when it is lost. Until then, and as long as the
    cluster has no workers, :attr:`ready` is False and nothing should be submitted.

    Parameters
    ----------
    tool : Tool
        A Dask worker fetches it once. It is run by one thread of a worker process at a time.
    address : str
        The scheduler, such as ``tcp://scheduler:8786``.
    """

    lost = (BrokenExecutor, CancelledError, CommClosedError, KilledWorker, TimeoutError)
    timeout = RESULT_TIMEOUT_S

    def __init__(self, tool: Tool[I, O], address: str) -> None:
        self.address = address
        self._tool = tool
        self._slots = 0
        self._executor: Executor | None = None
        self._remote_tool: Any = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="isogloss-dask", daemon=True)
        self._thread.start()

    @property
    def slots(self) -> int:
        """Return the number of threads that the Dask workers have."""
        return self._slots

    @property
    def ready(self) -> bool:
        """Return whether the cluster can be reached and has a worker."""
        return self._executor is not None and self._slots > 0

    def wait(self) -> None:
        """Wait until the cluster has a worker; EngineError if that takes too long."""
        until = time.monotonic() + START_TIMEOUT_S
        while not self.ready:
            if time.monotonic() > until:
                raise EngineError(f"no Dask worker within {START_TIMEOUT_S:.0f} s at {self.address}")
            time.sleep(0.01)

    def submit(self, item: I) -> Future[O]:
        """Run the tool on an item; the future fails if the cluster loses it."""
        executor, tool = self._executor, self._remote_tool
        try:
            if executor is None:
                raise BrokenExecutor(f"the connection to the Dask scheduler {self.address} was lost")
            return executor.submit(_work, tool, item, TASK_TIMEOUT_S)
        except Exception as error:
            failed: Future[O] = Future()
            failed.set_exception(BrokenExecutor(str(error)))
            return failed

    def close(self) -> None:
        """Close the connection; the scheduler forgets tasks that are under way."""
        self._stop.set()
        self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        """Stay connected until :meth:`close`."""
        last_error = ""
        while not self._stop.is_set():
            try:
                with Client(self.address, timeout=CONNECT_TIMEOUT_S, set_as_default=False) as client:
                    logger.info("connected to the Dask scheduler %s", self.address)
                    self._serve(client)
            except Exception as error:
                if str(error) != last_error and not self._stop.is_set():
                    last_error = str(error)
                    logger.warning("the Dask scheduler %s cannot be used: %s", self.address, last_error)
            finally:
                self._slots, self._executor, self._remote_tool = 0, None, None
            self._stop.wait(RECONNECT_S)

    def _serve(self, client: Client) -> None:
        """Accept tasks until the connection is lost or :meth:`close` is called."""
        # Unlike scattered data, the result of a task can be computed again when its worker dies.
        self._remote_tool = client.submit(_given, self._tool, pure=False)
        self._executor = client.get_executor(pure=False)
        while not self._stop.is_set():
            self._slots = sum(client.nthreads().values())
            self._stop.wait(POLL_S)


def _given(tool: Tool[Any, Any]) -> Tool[Any, Any]:
    return tool


_one_at_a_time = threading.Lock()


@thread_bound
def _work(tool: Tool[Any, Any], item: Any, timeout_s: float) -> Any:
    with _one_at_a_time:
        if get_worker().nanny is None:
            return tool(item)
        faulthandler.dump_traceback_later(timeout_s, exit=True, file=2)
        try:
            return tool(item)
        finally:
            faulthandler.cancel_dump_traceback_later()
