"""Metrics of the service, in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counters of requests and articles, and gauges that are read at every scrape.

    ``gauges`` returns a help text and a value for each name.
    """

    def __init__(self, gauges: Callable[[], Mapping[str, tuple[str, float]]]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "isogloss_requests", "Requests", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "isogloss_request_seconds",
            "Duration of a request in seconds",
            ["route"],
            buckets=_BUCKETS_S,
            registry=self.registry,
        )
        self.articles = Counter(
            "isogloss_articles",
            "Articles received, by status",
            ["status"],
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(_Gauges(gauges))

    def text(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self.registry)


class _Gauges:
    def __init__(self, gauges: Callable[[], Mapping[str, tuple[str, float]]]) -> None:
        self.gauges = gauges

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing: the gauges are not read at registration."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the present values."""
        for name, (help_text, value) in self.gauges().items():
            yield GaugeMetricFamily(f"isogloss_{name}", help_text, value=value)


class MetricsMiddleware:
    """ASGI middleware that counts and times requests by route."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and record its status and duration."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def send_recorded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        start = perf_counter()
        try:
            await self.app(scope, receive, send_recorded)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.requests.labels(route, method, str(status)).inc()
            self.metrics.seconds.labels(route).observe(perf_counter() - start)
