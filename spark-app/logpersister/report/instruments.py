"""Makes the instruments of one registry of Prometheus: members and the operator name theirs by a prefix."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, exposition


class Instruments:
    """Metrics of one prefix, in one registry."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        self.registry = registry
        self._prefix = prefix

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace=self._prefix, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, namespace=self._prefix, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, namespace=self._prefix, registry=self.registry, buckets=buckets)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the exposition and its content type for an ``Accept`` header."""
        encoder, content_type = exposition.choose_encoder(accept)
        return encoder(self.registry), content_type
