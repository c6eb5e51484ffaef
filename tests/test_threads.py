"""The number of threads is decided in one place and holds everywhere."""

import json
import os
import subprocess
import sys
import threading
from importlib import import_module
from inspect import isfunction

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info, threadpool_limits

import isogloss
from isogloss import threads
from isogloss.linalg import randomized_svd
from isogloss.mixture import GaussianMixture
from isogloss.stats import ViewMoments
from isogloss.threads import count_threads, library_threads, map_threads, thread_bound

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MODELS = (
    "alignment",
    "events",
    "factor",
    "graphical",
    "lexicon",
    "mixture",
    "multiview",
    "similarity",
    "text",
)


def pool_size(shared=None):
    """Return the size of the largest pool: of all, of those that threads share, or of the others."""
    return max(
        pool["num_threads"]
        for pool in threadpool_info()
        if shared in (None, pool["user_api"] == "blas" and pool["threading_layer"] != "openmp")
    )


@pytest.fixture(autouse=True)
def larger_pools(monkeypatch):
    """BLAS and OpenMP have three threads outside isogloss, whatever the machine has and ran before."""
    monkeypatch.delenv("ISOGLOSS_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads._Bound, "blas", threads._BlasBound())
    monkeypatch.setattr(threads, "_bound", threads._Bound())
    limits = threadpool_limits(3)
    threads._release_openblas()
    yield
    limits.restore_original_limits()
    threads._release_openblas()


def estimators():
    for package in MODELS:
        module = import_module(f"isogloss.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, BaseEstimator):
                yield thing


class Watched(np.ndarray):
    """Rows that write down how many threads the pools have when they are multiplied or added."""

    seen: set = set()  # noqa: RUF012

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        Watched.seen.add(pool_size())
        plain = [x.view(np.ndarray) if isinstance(x, Watched) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


def watched(rows):
    Watched.seen.clear()
    return rows.view(Watched)


@pytest.mark.parametrize("kind", list(estimators()), ids=lambda kind: kind.__name__)
def test_every_public_method_of_every_estimator_bounds_the_pools(kind):
    bases = [base for base in kind.__mro__ if base.__module__.startswith("isogloss")]
    methods = {
        f"{base.__name__}.{name}": method
        for base in bases
        if issubclass(base, BaseEstimator)
        for name, method in vars(base).items()
        if isfunction(method) and not name.startswith("_") and name not in ("get_params", "set_params")
    }
    assert methods
    assert [name for name, method in methods.items() if not hasattr(method, "__wrapped__")] == []


def test_fitting_runs_with_one_thread_and_leaves_the_pools_as_they_were(rng):
    @thread_bound
    def inside():
        return pool_size()

    assert inside() == 1
    assert pool_size() == 3
    x = watched(rng.normal(size=(60, 3)))
    ViewMoments([3]).update([x])
    assert Watched.seen <= {1}
    GaussianMixture(2, random_state=0).fit(np.asarray(x))
    randomized_svd(np.asarray(x), 2)
    assert pool_size() == 3


def test_an_error_inside_leaves_the_pools_as_they_were():
    with pytest.raises(ValueError, match="n_components"):
        GaussianMixture(0).fit(np.ones((3, 2)))
    assert pool_size() == 3


def test_calls_of_two_threads_that_end_in_any_order_leave_the_pools_as_they_were():
    begun, let_go = threading.Barrier(2), threading.Event()

    @thread_bound
    def first():
        begun.wait()
        let_go.wait()

    @thread_bound
    def second():
        begun.wait()

    one = threading.Thread(target=first, daemon=True)
    one.start()
    second()
    between = pool_size(shared=True), pool_size(shared=False)
    let_go.set()
    one.join()
    assert between == (1, 3)
    assert pool_size() == 3


def test_the_variable_sets_pools_and_what_all_cores_means(monkeypatch):
    assert (library_threads(), count_threads(None), count_threads(-1)) == (1, 1, joblib.cpu_count())
    monkeypatch.setenv("ISOGLOSS_NUM_THREADS", "2")
    assert (library_threads(), count_threads(None), count_threads(-1), count_threads(5)) == (2, 1, 2, 5)
    assert thread_bound(pool_size)() == 2
    assert map_threads(lambda _: pool_size(), [0, 1], 2) == [1, 1]
    monkeypatch.setenv("ISOGLOSS_NUM_THREADS", "-1")
    assert library_threads() == joblib.cpu_count()


@pytest.mark.parametrize("wrong", ["many", "0", "-3", "1.5"])
def test_a_variable_that_is_no_number_is_refused(monkeypatch, wrong):
    monkeypatch.setenv("ISOGLOSS_NUM_THREADS", wrong)
    with pytest.raises(ValueError, match=r"ISOGLOSS_NUM_THREADS=.* expected a number of threads"):
        library_threads()


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no niceness on this system")
@pytest.mark.parametrize(("variable", "added"), [("", 3), ("0", 0), ("7", 7)])
def test_processes_in_the_background_lower_their_priority(variable, added):
    code = (
        "import os; from isogloss.threads import lower_priority\n"
        "before = os.nice(0); lower_priority(3); print(os.nice(0) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"ISOGLOSS_NICE": variable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == added


def test_a_niceness_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv("ISOGLOSS_NICE", "much")
    with pytest.raises(ValueError, match=r"ISOGLOSS_NICE='much'; expected a number from 0 to 19"):
        threads.lower_priority(3)


def test_a_library_that_is_loaded_inside_is_bounded_too():
    """numpy and scipy bring a BLAS each."""
    code = (
        "import json, numpy; from isogloss.threads import thread_bound\n"
        "from threadpoolctl import threadpool_info\n"
        "inner = thread_bound(lambda: max(each['num_threads'] for each in threadpool_info()))\n"
        "@thread_bound\n"
        "def outer():\n"
        "    import scipy.linalg, sklearn.cluster\n"
        "    return inner()\n"
        "print(json.dumps([outer(), len(threadpool_info())]))"
    )
    free = {name: value for name, value in os.environ.items() if name not in POOLS}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=free, check=True)
    threads, pools = json.loads(done.stdout)
    assert threads == 1
    assert pools >= 2


def test_the_command_line_and_the_processes_it_starts_are_bounded(monkeypatch):
    code = (
        "import json, os, sys; sys.argv = ['isogloss', '--version']; from isogloss.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(json.dumps([os.environ.get(name) for name in {POOLS!r}]))"
    )
    for asked, given in ((None, "1"), ("2", "2")):
        free = {name: value for name, value in os.environ.items() if name not in POOLS}
        if asked:
            free["ISOGLOSS_NUM_THREADS"] = asked
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=free)
        version, pools = done.stdout.splitlines()
        assert version == f"isogloss {isogloss.__version__}"
        assert json.loads(pools) == [given] * len(POOLS)
