"""The script that sends very many articles through a store, with few of them."""

import json
import sys
from importlib import import_module

import pytest


@pytest.fixture
def endurance(request, monkeypatch):
    """The script, which finds its parts beside itself, with small portions; threads here stay as they are."""
    monkeypatch.syspath_prepend(request.config.rootpath / "tools")
    script = import_module("endurance")
    monkeypatch.setattr(script, "PART", 40)
    monkeypatch.setattr(script, "bound_process", lambda: None)
    monkeypatch.setattr(script, "freeze_gc", lambda: None)
    return script


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_is_looked_at_and_a_store_is_never_written_over(endurance, monkeypatch, tmp_path, capsys):
    command = ["endurance.py", "--folder", str(tmp_path), "--articles", "120", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", command)
    code = endurance.main()
    told = json.loads(capsys.readouterr().out)
    assert [look["articles"] for look in told["looks"]] == [40, 80, 120]
    assert told["looks"][-1]["stored"] == 120
    assert told["looks"][-1]["events"] > 20
    assert told["second_half_mb"] == pytest.approx(told["looks"][2]["mb"] - told["looks"][0]["mb"], abs=0.06)
    assert code == int(told["second_half_mb"] > told["allowed_mb"])
    with pytest.raises(SystemExit, match="is there already"):
        endurance.main()
