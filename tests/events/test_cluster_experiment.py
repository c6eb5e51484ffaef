"""The experiment on clusters, in small."""

from pathlib import Path

import pytest

from experiments import event_clusters
from experiments.event_data import events_folder


@pytest.mark.slow
def test_the_experiment_runs_and_full_texts_help(tmp_path: Path) -> None:
    try:
        events_folder(None)
    except SystemExit as missing:
        pytest.skip(str(missing))
    event_clusters.main([str(tmp_path), "--quick"])
    report = (tmp_path / "event_clusters" / "report.md").read_text(encoding="utf-8")
    assert "- holds: full texts are better than titles" in report
