"""What the port of the metrics serves: metrics for Prometheus, pages for browsers."""

from http import HTTPStatus

from logpersister.report.instruments import Instruments
from logpersister.report.server import TEXT, Answer, Pages


class OperatorEndpoints:
    """Routes requests."""

    def __init__(self, metrics: Instruments, pages: Pages) -> None:
        self._metrics = metrics
        self._pages = pages

    def answer(self, path: str, accept: str) -> Answer:
        """Return the answer to GET `path`; whoever takes no HTML gets the metrics at ``/``, too."""
        path, _, query = path.partition("?")
        is_browser = "text/html" in accept
        if path == "/metrics" or (path == "/" and not is_browser):
            body, content_type = self._metrics.render(accept)
            return Answer(HTTPStatus.OK, content_type, body)
        page = self._pages.answer(path, query)
        return page or Answer(HTTPStatus.NOT_FOUND, TEXT, b"not found; there are /metrics and, for browsers, /\n")
