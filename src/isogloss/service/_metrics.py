"""Figures about the service, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Measured", "Metrics"]

_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts of requests and articles, and whatever else is asked for when somebody looks.

    Parameters
    ----------
    gauges : callable
        Gives names, each with a sentence and a value.
    """

    def __init__(self, gauges: Callable[[], Mapping[str, tuple[str, float]]]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "isogloss_requests", "Requests", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "isogloss_request_seconds",
            "Seconds of a request",
            ["route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.articles = Counter(
            "isogloss_articles",
            "Articles, by what became of them",
            ["status"],
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(_Gauges(gauges))

    def text(self) -> bytes:
        """All figures."""
        return generate_latest(self.registry)


class _Gauges:
    def __init__(self, gauges: Callable[[], Mapping[str, tuple[str, float]]]) -> None:
        self.gauges = gauges

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing to be asked for before somebody looks."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The values of the moment."""
        for name, (said, value) in self.gauges().items():
            yield GaugeMetricFamily(f"isogloss_{name}", said, value=value)


class Measured:
    """An ASGI application around another that counts and times requests by their route.

    Parameters
    ----------
    app : ASGI application
        What is measured.
    metrics : Metrics
        Where the counts go.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on and note what became of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        start = perf_counter()
        try:
            await self.app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.requests.labels(route, method, str(status)).inc()
            self.metrics.seconds.labels(route).observe(perf_counter() - start)
