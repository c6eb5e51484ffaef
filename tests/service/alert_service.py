"""A service that delivers alerts and is killed: python -m tests.service.alert_service STORE PORT."""

import sys

from isogloss.service.app import create_app
from isogloss.service.settings import AlertSettings, Settings
from isogloss.store import Store


def alert_settings(port, **changed):
    """Settings that allow webhooks to this machine and try again at once."""
    given = {"private_addresses": True, "ports": [port], "retry_seconds": 0.01, "retry_max_seconds": 0.05}
    return Settings(alerts=AlertSettings(**given | changed))


def main():
    place, port = sys.argv[1], int(sys.argv[2])
    with Store(place) as store:
        create_app(alert_settings(port), store).state.isogloss.alerts.run()


if __name__ == "__main__":
    main()
