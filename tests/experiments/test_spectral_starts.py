"""The experiment on starts from moments, on a small scale."""

import json

from experiments import spectral_starts


def test_a_small_run_writes_its_report(tmp_path):
    spectral_starts.main([str(tmp_path), "--quick"])
    folder = tmp_path / "spectral_starts"
    found = json.loads((folder / "report.json").read_text())
    assert set(found) == {"chain", "topics"}
    for one in found.values():
        assert len(one["random"]) == 3
        assert one["alone"]["steps"] == 0
        assert one["spectral"]["bound"] > one["alone"]["bound"]
    report = (folder / "report.md").read_text()
    assert "3 random starts" in report
    assert "| chain |" in report
