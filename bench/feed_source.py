"""``python -m bench.feed_source HOSTS CHANGED``: serves feeds of 10 to 50 kB on loopback, and prints its port.

Each feed has an ETag. Of a hundred feeds so many as CHANGED have new content at each request; others answer 304.
"""

import asyncio
import random
import sys
import zlib

_PADDING = random.Random(7).randbytes(50_000).hex().encode()[:50_000]


class Source(asyncio.Protocol):
    """One connection, kept alive."""

    changed = 0

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head, self._received = self._received[:end], self._received[end + 4 :]
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        assert self._transport is not None
        number = zlib.crc32(head.split(b" ", 2)[1])
        version = b"%d" % random.getrandbits(60) if number % 100 < self.changed else b"one"
        tag = b'"' + version + b'"'
        if b"If-None-Match: " + tag in head:
            self._transport.write(b"HTTP/1.1 304 Not Modified\r\nETag: " + tag + b"\r\n\r\n")
            return
        body = version + _PADDING[: 10_000 + number % 40_000]
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (tag, len(body), body)
        )


async def main(hosts: int) -> None:
    """Serve until the process ends."""
    loop = asyncio.get_running_loop()
    addresses = [f"127.9.{number // 250}.{number % 250 + 1}" for number in range(hosts)]
    first = await loop.create_server(Source, addresses[0], 0, backlog=4096)
    port = first.sockets[0].getsockname()[1]
    await loop.create_server(Source, addresses[1:], port, backlog=4096)
    print(port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    Source.changed = int(sys.argv[2])
    asyncio.run(main(int(sys.argv[1])))
