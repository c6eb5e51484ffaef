"""What is in deploy/ fits the commands, the extras and the system calls of isogloss."""

import re
import tomllib

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app


@pytest.fixture(scope="module")
def read(request):
    return lambda *parts: request.config.rootpath.joinpath(*parts).read_text()


def settings(unit, name):
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def test_the_unit_lets_the_service_do_what_it_does(read):
    """Numerical libraries place their memory and the worker stands back: both are @resources."""
    unit = read("deploy", "isogloss.service")
    assert settings(unit, "SystemCallFilter") == ["@system-service", "~@privileged"]
    assert settings(unit, "SystemCallErrorNumber") == ["EPERM"]


@pytest.mark.parametrize("place", [("deploy", "Dockerfile"), ("docs", "howto", "operations.rst")])
def test_a_deployed_service_has_every_extra_it_relies_on(read, place):
    """Without them it would run, but know no places, dates or languages."""
    installs = re.findall(r"""pip install .*(?:\.|isogloss)\[([\w,]+)\]""", read(*place))
    known = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert installs
    for asked in installs:
        extras = set(known) if asked == "all" else set(asked.split(","))
        assert extras <= set(known)
        assert extras >= {"service", "postgres", "feeds", "text", "places", "dates", "encoder"}


def test_signals_reach_the_service_in_its_container(read):
    """The exec form has no shell in between; the process is not root."""
    image = read("deploy", "Dockerfile")
    assert re.search(r'^ENTRYPOINT \["isogloss"\]$', image, re.MULTILINE)
    assert re.search(r"^USER isogloss$", image, re.MULTILINE)


def test_every_command_of_deploy_is_one_of_isogloss(read):
    compose = read("deploy", "compose.yaml")
    commands = [each.split(", ") for each in re.findall(r"command: \[(.*)\]", compose)]
    (started,) = settings(read("deploy", "isogloss.service"), "ExecStart")
    for command in [*commands, started.split()[1:]]:
        told = CliRunner().invoke(app, [command[0], "--help"], env={"COLUMNS": "200"})
        assert told.exit_code == 0
        assert all(word in told.output for word in command if word.startswith("--"))
