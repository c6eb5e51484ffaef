"""Requests to hosts: one at a time, with a pause between two, and no thread waits for a host."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.feeds._host_queue import HostQueue, HostSchedule
from tests.waiting import LIMIT_S


def asked():
    return True


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3)), min_size=1, max_size=30),
    st.floats(0, 2),
)
def test_a_host_has_one_request_at_a_time_and_a_pause_after_each(requests, pause):
    """Three workers take whatever is due; each request takes as long as the example says."""
    schedule, durations = HostSchedule(pause), {}
    for host, seconds in requests:
        task = object()
        durations[task] = seconds
        schedule.add(host, task, now=0.0)
    now, running, ended, taken = 0.0, {}, {}, 0
    while taken < len(requests) or running:
        turn = schedule.take(now) if len(running) < 3 else None
        if turn is not None and turn.task is not None:
            assert turn.host not in running
            assert now >= ended.get(turn.host, -pause) + pause
            running[turn.host] = now + durations[turn.task]
            taken += 1
            continue
        due = [] if turn is None or turn.wait is None else [now + turn.wait]
        now = max(now, min([*due, *running.values()]))
        for host in [host for host, end in running.items() if end <= now]:
            ended[host] = running.pop(host)
            schedule.done(host, now)
            ended[host] = now
    assert schedule.take(now + 100).wait is None


def test_a_host_that_was_not_asked_is_free_at_once():
    schedule = HostSchedule(pause=5.0)
    schedule.add("a", asked, now=0.0)
    schedule.add("a", asked, now=0.0)
    assert schedule.take(0.0).host == "a"
    schedule.done("a", 0.0, pause=0.0)
    assert schedule.take(0.0).host == "a"
    schedule.done("a", 0.0)
    schedule.add("a", asked, now=1.0)
    assert schedule.take(1.0) == ("", None, 4.0)


def test_an_urgent_task_comes_before_the_others_of_its_host():
    schedule = HostSchedule(pause=0.0)
    first, second, urgent = (lambda number=n: number for n in range(3))
    for task in (first, second):
        schedule.add("a", task, now=0.0)
    schedule.add("a", urgent, now=0.0, first=True)
    assert schedule.take(0.0).task is urgent


@pytest.mark.parametrize("n_threads", [1, 4])
def test_threads_run_every_task_and_never_two_of_one_host(n_threads):
    queue, lock = HostQueue(n_threads, pause=0.0), threading.Lock()
    busy, most, done = set(), [], threading.Semaphore(0)

    def task(host):
        with lock:
            assert host not in busy
            busy.add(host)
            most.append(len(busy))
        with lock:
            busy.discard(host)
        done.release()
        return True

    for number in range(200):
        queue.add(f"h{number % 7}", lambda host=f"h{number % 7}": task(host))
    for _ in range(200):
        assert done.acquire(timeout=LIMIT_S)
    assert max(most) <= n_threads
    queue.stop()
    for thread in queue._threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def test_a_slow_host_does_not_keep_others_waiting():
    queue, release, done = HostQueue(2, pause=0.0), threading.Event(), threading.Semaphore(0)
    for _ in range(10):
        queue.add("slow", lambda: release.wait(LIMIT_S))
    for number in range(50):
        queue.add(f"h{number}", lambda: done.release() is None)
    for _ in range(50):
        assert done.acquire(timeout=LIMIT_S)
    assert not release.is_set()
    release.set()
    queue.stop()
