"""Alerts on events and saved searches, and the outbox of those that are not delivered yet.

Changes of an event that arrive before the first attempt to deliver an alert are combined in one row. Each
alert has at most one batch that was attempted, so its order is kept; rows that were attempted never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isogloss.exceptions import StoreError
from isogloss.store.interface import Row, Session

_FIELDS = (
    "id, owner, event, search, channel, address, secret, minutes, created, line, next, delivered, dropped, "
    "error"
)

_MINUTE = 60_000_000
"""Microseconds."""

QUEUE_EVENT = (
    "INSERT INTO outbox (alert, event, line) SELECT id, event, CAST(? AS BIGINT) FROM alert WHERE event = ? "
    "ON CONFLICT (alert, event) WHERE attempts = 0 DO UPDATE SET line = excluded.line"
)
"""Queues the alerts on an event that changed at a journal line; part of the update that changes the event."""

FOLLOW_ALIASES = (
    "UPDATE alert SET event = (SELECT event FROM alias WHERE alias.id = alert.event) "
    "WHERE event IN (SELECT id FROM alias)"
)
"""Moves the alerts on events that were merged into others."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert: what it is about, and where it is sent.

    Attributes
    ----------
    id : int
        Its number, which is never used again.
    owner : str
        The id of the token that made it; empty for one of the installation.
    event : str
        The event it is about; empty for an alert on a saved search.
    search : int or None
        The saved search.
    channel : {'webhook', 'mail'}
        How it is delivered.
    address : str
        The URL or e-mail address.
    secret : str
        The key that signs webhooks.
    minutes : int
        Least time between two deliveries.
    created : int
        Microseconds since 1970.
    line : int
        The journal line up to which the saved search was looked at.
    next : int
        Time of the next attempt.
    delivered, dropped : int
        Number of changes that were delivered, and that were given up.
    error : str
        Why the last attempt failed.
    """

    id: int
    owner: str
    event: str
    search: int | None
    channel: str
    address: str
    secret: str
    minutes: int
    created: int
    line: int
    next: int
    delivered: int
    dropped: int
    error: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A batch of one alert: the changes to deliver, as number, event and journal line; and which attempt."""

    alert: Alert
    changes: Sequence[tuple[int, str, int]]
    attempt: int


def add_alert(session: Session, alert: Alert, *, max_alerts: int) -> Alert:
    """Add an alert, whose number is ignored; raise StoreError if its owner has too many."""
    ((count,),) = session.run("SELECT count(*) FROM alert WHERE owner = ?", [alert.owner])
    if count >= max_alerts:
        raise StoreError(f"there are {count} alerts, and at most {max_alerts} are allowed; delete one")
    names = _FIELDS.split(", ")[1:]
    (row,) = session.run(
        f"INSERT INTO alert ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) RETURNING {_FIELDS}",
        [getattr(alert, name) for name in names],
    )
    return _alert(row)


def read_alert(session: Session, number: int) -> Alert | None:
    """Return an alert by its number."""
    row = session.one(f"SELECT {_FIELDS} FROM alert WHERE id = ?", [number])
    return _alert(row) if row else None


def list_alerts(session: Session, owner: str | None = None) -> list[Alert]:
    """Return the alerts of an owner, or of all, in the order of their numbers."""
    where, values = ("", []) if owner is None else ("WHERE owner = ? ", [owner])
    return [_alert(row) for row in session.run(f"SELECT {_FIELDS} FROM alert {where}ORDER BY id", values)]


def delete_alert(session: Session, number: int) -> bool:
    """Delete an alert with everything that waits for delivery; return whether there was one."""
    return bool(session.run("DELETE FROM alert WHERE id = ? RETURNING id", [number]))


def waiting_by_alert(session: Session, alerts: Sequence[int]) -> dict[int, int]:
    """Return the number of changes that wait for delivery, for those of some alerts that have any."""
    if not alerts:
        return {}
    marks = ", ".join("?" * len(alerts))
    rows = session.run(
        f"SELECT alert, count(*) FROM outbox WHERE alert IN ({marks}) GROUP BY alert", list(alerts)
    )
    return {int(alert): int(count) for alert, count in rows}


def queue_found(session: Session, alert: int, events: Sequence[tuple[str, int]], line: int) -> None:
    """Queue the events that a saved search found up to a journal line, each with the line of its change."""
    session.run_many(
        "INSERT INTO outbox (alert, event, line) SELECT id, CAST(? AS TEXT), CAST(? AS BIGINT) FROM alert "
        "WHERE id = ? ON CONFLICT (alert, event) WHERE attempts = 0 DO UPDATE SET line = excluded.line",
        [(event, changed, alert) for event, changed in events],
    )
    session.run("UPDATE alert SET line = ? WHERE id = ?", [line, alert])


def claim_deliveries(
    session: Session, *, now: int, lease: int, max_wait: int, limit: int, batch: int
) -> list[Delivery]:
    """Return what is to be delivered now, and keep others from delivering it for the time of a lease.

    Alerts of tokens that are revoked or expired wait. An attempt that is later than any wait allows was
    scheduled by a clock that was ahead, and is due now.

    Parameters
    ----------
    session : Session
        A write transaction.
    now, lease, max_wait : int
        Microseconds since 1970, and microseconds. An alert waits at most ``max_wait``, or its ``minutes``.
    limit : int
        Maximum number of alerts.
    batch : int
        Maximum number of changes in one mail; a webhook has one.
    """
    alerts = session.run(
        f"SELECT {_FIELDS} FROM alert "
        f"WHERE (next <= ? OR next > CAST(? AS BIGINT) + minutes * {_MINUTE}) AND EXISTS "
        "(SELECT 1 FROM outbox WHERE outbox.alert = alert.id) AND (owner = '' OR EXISTS "
        "(SELECT 1 FROM token WHERE token.id = alert.owner AND revoked = 0 AND expires > ?)) "
        "ORDER BY next, id LIMIT ?",
        [now, now + max_wait, now, limit],
    )
    return [_claim(session, _alert(row), now + lease, batch) for row in alerts]


def _claim(session: Session, alert: Alert, until: int, batch: int) -> Delivery:
    columns = "SELECT seq, event, line, attempts FROM outbox WHERE alert = ?"
    rows = session.run(f"{columns} AND attempts > 0 ORDER BY seq", [alert.id]) or session.run(
        f"{columns} ORDER BY seq LIMIT ?", [alert.id, batch if alert.channel == "mail" else 1]
    )
    session.run_many("UPDATE outbox SET attempts = attempts + 1 WHERE seq = ?", [(row[0],) for row in rows])
    session.run("UPDATE alert SET next = ? WHERE id = ?", [until, alert.id])
    return Delivery(alert, [(row[0], row[1], row[2]) for row in rows], rows[0][3] + 1)


def finish_delivery(session: Session, delivery: Delivery, *, next: int) -> None:
    """Record that a batch was delivered."""
    session.run_many("DELETE FROM outbox WHERE seq = ?", [(change[0],) for change in delivery.changes])
    session.run(
        "UPDATE alert SET delivered = delivered + ?, next = ?, error = '' WHERE id = ?",
        [len(delivery.changes), next, delivery.alert.id],
    )


def fail_delivery(session: Session, delivery: Delivery, *, next: int, error: str) -> None:
    """Record that an attempt failed, why, and when the next one is due."""
    session.run(
        "UPDATE alert SET next = ?, error = ? WHERE id = ?",
        [next, error.replace("\0", " ")[:500], delivery.alert.id],
    )


def expire_outbox(session: Session, *, now: int, keep: int, max_waiting: int) -> None:
    """Give up what waits too long, and the oldest changes of alerts for which too many wait.

    Time counts from the first call that sees a change, so nothing expires while no service runs.
    """
    session.run("UPDATE outbox SET created = ? WHERE created = 0", [now])
    gone = session.run("DELETE FROM outbox WHERE created < ? RETURNING alert", [now - keep])
    crowded = session.run("SELECT alert FROM outbox GROUP BY alert HAVING count(*) > ?", [max_waiting])
    for (alert,) in crowded:
        oldest = "SELECT seq FROM outbox WHERE alert = ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
        gone += session.run(
            f"DELETE FROM outbox WHERE alert = ? AND seq <= ({oldest}) RETURNING alert",
            [alert, alert, max_waiting],
        )
    session.run_many("UPDATE alert SET dropped = dropped + 1 WHERE id = ?", gone)


def _alert(row: Row) -> Alert:
    return Alert(*row)
