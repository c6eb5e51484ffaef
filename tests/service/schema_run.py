"""Run schemathesis over the whole API: every route, every phase, every check that its settings leave on.

    python -m tests.service.schema_run               a minute: 20 requests a route and phase
    python -m tests.service.schema_run -n 200        ten times as many; further options go to schemathesis
    SCOPE=read python -m tests.service.schema_run    with a token that may only read; or write, none

A service with a small store runs on any free port while it lasts. The summary of schemathesis is the last
thing printed, and its exit code that of the run: 0 without a failure.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.server import running
from isogloss.store import Store
from tests.service import data

CONFIG = Path(__file__).with_name("schemathesis.toml")
USUAL = ("--max-examples", "20")


def main(options=(), scope="admin", **how):
    """Run it with a token of some scope, or none; what became of it."""
    with (
        tempfile.TemporaryDirectory(prefix="isogloss-schema-") as folder,
        Store(Path(folder, "a.db")) as store,
    ):
        data.fill(store)
        settings = data.settings()
        app = create_app(settings, store, models=data.models())
        data.store_points(app.state.isogloss.store)
        while app.state.isogloss.neighbours.catch_up():
            pass
        token = make_token(store, [scope if scope != "none" else "admin"])
        header = () if scope == "none" else ("--header", f"Authorization: Bearer {token}")
        with running(app, settings) as url:
            command = [
                Path(sysconfig.get_path("scripts"), "schemathesis"), "--config-file", CONFIG,
                "run", f"{url}/api/v1/openapi.json", *header,
                *USUAL, *options,
            ]  # fmt: skip
            return subprocess.run([*map(str, command)], cwd=folder, **how)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ.get("SCOPE", "admin")).returncode)
