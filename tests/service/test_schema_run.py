"""The whole API under schemathesis, as its command runs it."""

import pytest

pytest.importorskip("schemathesis")

from tests.service import schema_run


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_whole_api_without_a_failure():
    done = schema_run.main(["--no-color"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:]
    assert "Selected: 25/25" in done.stdout
    for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
        assert f"✅ {phase}" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scope", ["read", "write", "none"])
def test_tokens_that_may_less_are_refused_in_the_same_shape(scope):
    done = schema_run.main(["--no-color"], scope, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:]
