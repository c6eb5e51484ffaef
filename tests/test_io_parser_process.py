"""Parsers of untrusted files in a child process: deadlines, memory, and deaths."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from isogloss.io import ParserFailure, ParserProcess
from isogloss.io import _parser_process as parser_process
from isogloss.io._parser_process import MAX_REPLY_BYTES
from tests.waiting import LIMIT_S


def allocate(size):
    return len(bytearray(size))


def letters(count):
    return "a" * count


def die():
    os._exit(3)


def chatter():
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    os.write(1, b"noise\n")
    return "answer"


def spin(endless):
    while endless:
        pass


@pytest.mark.parametrize(("hang", "seconds", "argument"), [(spin, 0.3, True), (time.sleep, 0.02, 3600)])
def test_a_parser_that_hangs_is_replaced(hang, seconds, argument):
    """It may be busy, or wait."""
    with ParserProcess(hang, seconds=seconds) as process:
        with pytest.raises(ParserFailure, match=rf"within {seconds} seconds of CPU time") as failure:
            process(argument)
        assert failure.value.reason == "too slow"
        process.seconds = LIMIT_S
        assert process(0) is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no limit of memory")
def test_a_parser_that_wants_too_much_memory():
    with ParserProcess(allocate, seconds=LIMIT_S, memory=64 << 20) as process:
        with pytest.raises(ParserFailure, match="MemoryError"):
            process(1 << 30)
        assert process(1 << 20) == 1 << 20


def test_a_parser_that_dies_is_replaced():
    with ParserProcess(die, seconds=LIMIT_S) as process:
        for _ in range(2):
            with pytest.raises(ParserFailure, match="crashed the parser"):
                process()


def test_an_answer_that_is_too_long_is_refused():
    with ParserProcess(letters, seconds=LIMIT_S) as process:
        with pytest.raises(ParserFailure, match="more than"):
            process(MAX_REPLY_BYTES)
        assert process(3) == "aaa"


def test_every_string_comes_back_as_it_was():
    text = "\ud800 \udfff \0 \n \r \u2028 \U0010ffff é"
    with ParserProcess(json.loads, seconds=LIMIT_S) as process:
        assert process(json.dumps(text)) == text


def test_what_a_parser_prints_is_no_answer():
    with ParserProcess(chatter, seconds=LIMIT_S) as process:
        assert process() == process() == "answer"


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import textwrap\n"
        "from isogloss.io import ParserProcess\n"
        f"print(ParserProcess(textwrap.dedent, seconds={LIMIT_S})('  a'))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "a\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_starts_a_process_of_its_own():
    with ParserProcess(os.getppid, seconds=LIMIT_S) as process:
        assert process() == os.getpid()
        child = os.fork()
        if child == 0:
            right = process() == os.getpid()
            process.close()
            os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert process() == os.getpid()


def test_an_interrupted_call_leaves_no_answer_behind(monkeypatch):
    """After Ctrl-C the next call has its own answer."""
    with ParserProcess(letters, seconds=LIMIT_S) as process:
        assert process(1) == "a"

        def interrupted(started, request):
            parser_process._send(started, request)
            raise KeyboardInterrupt

        exchange = parser_process._exchange
        monkeypatch.setattr(parser_process, "_exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            process(2)
        monkeypatch.setattr(parser_process, "_exchange", exchange)
        assert process(3) == "aaa"


def test_threads_get_their_own_answers():
    with ParserProcess(letters, seconds=LIMIT_S) as process, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(process, range(40))) == ["a" * n for n in range(40)]
