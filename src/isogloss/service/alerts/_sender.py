"""The thread that delivers alerts.

A delivery is claimed in the store before it is sent and removed after the receiver has accepted it. A service
that is killed in between sends it again, under the same idempotency key: delivery is at least once, and a
receiver that ignores keys it knows gets everything once. While a claim lasts, no other service sends it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from isogloss.service._background import BackgroundThread
from isogloss.service.alerts._channels import DeliveryError, make_fetcher, send_mail, send_webhook
from isogloss.service.alerts._messages import delivery_id, mail_message, sign, webhook_body
from isogloss.service.search import EventSearch, event_query, parse_saved
from isogloss.service.settings import Settings
from isogloss.store import (
    Alert,
    Delivery,
    Store,
    claim_deliveries,
    expire_outbox,
    fail_delivery,
    finish_delivery,
    list_alerts,
    queue_found,
)

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 1.0
LEASE_MARGIN_S = 30.0
"""Time beyond that of a delivery after which a claim is given up as lost."""

MICROS = 1_000_000


class AlertSender(BackgroundThread):
    """Delivers the alerts of a store while the service runs.

    ``search`` runs the saved searches that are followed.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        search: EventSearch,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__("isogloss-alerts")
        self.store, self.settings, self.search = store, settings, search
        self._clock = clock
        self._fetcher = make_fetcher(settings.alerts)
        self._looked = float("-inf")

    def run(self) -> None:
        """Deliver until the thread is stopped; a delivery that has begun is finished."""
        while not self._stop.is_set():
            try:
                busy = self.work()
            except Exception:
                logger.exception("alerts were not delivered; trying again")
                busy = False
            if not busy:
                self._stop.wait(POLL_INTERVAL_S)

    def work(self) -> bool:
        """Look at followed searches if it is time, and attempt what is due; return whether anything was."""
        if not 0 <= self._clock() - self._looked < self.settings.alerts.search_seconds:  # or it was put back
            self._looked = self._clock()
            self.look_at_searches()
        deliveries = self._claim()
        if deliveries:
            with ThreadPoolExecutor(self.settings.alerts.concurrent, "isogloss-alert") as pool:
                list(pool.map(self._deliver, deliveries))
        return bool(deliveries)

    def look_at_searches(self) -> None:
        """Queue the events of followed searches that changed since they were looked at."""
        position = self.store.position()
        with self.store.database.read() as session:
            followed = [each for each in list_alerts(session) if each.search is not None]
        for alert in followed:
            if alert.line < position:
                try:
                    found = self._changed_events(alert)
                except ValueError as error:
                    logger.warning("the search of alert %d cannot be run (%s)", alert.id, error)
                    continue
                except Exception:
                    logger.exception("the search of alert %d failed", alert.id)
                    continue
                with self.store.database.write() as session:
                    queue_found(session, alert.id, found, position)

    def _changed_events(self, alert: Alert) -> list[tuple[str, int]]:
        """Return the events of a followed search that changed since, the oldest change first."""
        saved = self.store.saved_search(alert.search or 0)
        if saved is None:
            return []
        parameters = parse_saved(saved.query)
        ids = [each.id for each in self.search.find(parameters.q).relevant] if parameters.q else None
        query = replace(event_query(self.store, parameters), ids=ids, sort="changed", limit=200)
        found: list[tuple[str, int]] = []
        while len(found) < self.settings.alerts.waiting:
            page = self.store.events(query)
            found += [(each["id"], each["changed"]) for each in page.events if each["changed"] > alert.line]
            if not page.cursor or page.events[-1]["changed"] <= alert.line:
                break
            query = replace(query, cursor=page.cursor)
        return found[::-1]

    def _claim(self) -> list[Delivery]:
        alerts, now = self.settings.alerts, int(self._clock() * MICROS)
        with self.store.database.read() as session:
            if session.one("SELECT 1 FROM outbox LIMIT 1") is None:
                return []
        lease = int((alerts.timeout_seconds + LEASE_MARGIN_S) * MICROS)
        with self.store.database.write() as session:
            keep = int(alerts.keep_hours * 3600 * MICROS)
            expire_outbox(session, now=now, keep=keep, max_waiting=alerts.waiting)
            return claim_deliveries(
                session,
                now=now,
                lease=lease,
                max_wait=max(lease, int(alerts.retry_max_seconds * MICROS)),
                limit=alerts.concurrent,
                batch=alerts.digest_changes,
            )

    def _deliver(self, delivery: Delivery) -> None:
        """Make one attempt, and record its outcome."""
        try:
            self._send(delivery)
        except DeliveryError as error:
            self._retry_later(delivery, error)
        except Exception as error:  # because of what an event holds: no other alert waits for this one
            logger.exception("alert %d cannot be delivered", delivery.alert.id)
            self._retry_later(delivery, DeliveryError(f"failed ({type(error).__name__}: {error})"))
        else:
            due = int((self._clock() + delivery.alert.minutes * 60) * MICROS)
            with self.store.database.write() as session:
                finish_delivery(session, delivery, next=due)

    def _retry_later(self, delivery: Delivery, error: DeliveryError) -> None:
        """Record why an attempt failed, and when the next one is due."""
        alerts, alert = self.settings.alerts, delivery.alert
        wait = min(alerts.retry_seconds * 2.0 ** min(delivery.attempt - 1, 40), alerts.retry_max_seconds)
        wait = max(wait, min(error.wait, alerts.retry_max_seconds))
        logger.info("alert %d was not delivered (%s); trying again in %g s", alert.id, error, wait)
        due = int((self._clock() + wait) * MICROS)
        with self.store.database.write() as session:
            fail_delivery(session, delivery, next=due, error=str(error))

    def _send(self, delivery: Delivery) -> None:
        """Send what is left of the events of a delivery: those that were deleted are left out."""
        alert, alerts = delivery.alert, self.settings.alerts
        found = [self.store.event_summary(id) for _, id, _ in delivery.changes]
        events = [event for event in found if event is not None]
        if not events:
            return
        id = delivery_id(self.store.instance_id(), delivery)
        if alert.channel == "mail":
            mail = self.settings.mail
            message = mail_message(
                delivery,
                events,
                id=id,
                sender=mail.sender,
                base_url=alerts.base_url,
                max_bytes=alerts.body_bytes,
            )
            send_mail(mail, message, alerts.timeout_seconds)
            return
        body = webhook_body(delivery, events[0], alerts.base_url, alerts.body_bytes)
        timestamp = int(self._clock())
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": id,
            "webhook-id": id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(alert.secret, id, timestamp, body),
        }
        send_webhook(self._fetcher, alert.address, body, headers)
