"""Connections to brokers: kafka-python's, with five differences.

- Bytes are received straight into the buffer of the response that they belong to: the library copies them eight times.
- Large responses are received in large pieces: the system wakes the thread when much of one is there.
- Every step of connecting has a deadline; the library's TLS handshake has none, and would wait for ever for a
  server that takes the connection and then says nothing.
- What does not come about is closed at once, not when the garbage collector finds it.
- A refused login ends the attempts to connect; the library drops what it learnt and tries on.

Touches the inside of kafka-python, as `connection` does: hence its exact pin.
"""
# ruff: noqa: SLF001 -- see above

import socket
import ssl
import time
from typing import Any, Final

from kafka import errors as kafka_errors
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

UNAUTHORIZED = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.AuthorizationError,
)
MOST_AWAITED: Final = 1 << 20
"""Bytes of a response for which a connection is woken: each time costs as much as a tenth of them."""
_WOULD_BLOCK = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class ConnectionManager(KafkaConnectionManager):  # type: ignore[misc]
    """The library's manager of connections, one for each broker, with the differences of this module."""

    last_failure: Exception | None = None
    """Why the last connection that failed did so."""

    async def _connect(self, node: Any, conn: Any, *arguments: Any, **options: Any) -> None:
        await super()._connect(node, conn, *arguments, **options)
        error = conn.init_future.exception
        if error is not None:
            self.last_failure = error
        if isinstance(error, UNAUTHORIZED):
            self._auth_failures[node.node_id] = error

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        sock = await self._open(node, timeout_at)
        transport = None
        try:
            transport = self._transport(sock, node.host)
            await transport.handshake_until(timeout_at)
        except Exception as error:
            raise kafka_errors.KafkaConnectionError(f"Handshake failed: {error}") from error
        else:
            kept, transport = transport, None
            return kept
        finally:
            if transport is not None:
                transport.close()

    def _transport(self, sock: socket.socket, host: str) -> "_Transport | _TlsTransport":
        if not self.ssl_enabled:
            return _Transport(self._net, sock, host=host)
        settings = {key: value for key, value in self.config.items() if key.startswith("ssl_")}
        try:
            return _TlsTransport(self._net, sock, host=host, **settings)
        except BaseException:
            sock.close()
            raise

    async def _open(self, node: Any, timeout_at: float | None) -> socket.socket:
        """Connect to one of the addresses that the name has, giving each its share of the time."""
        addresses = KafkaNetSocket().dns_lookup(node.host, node.port)
        error: Exception = kafka_errors.KafkaConnectionError(f"{node.host} has no address (DNS)")
        for place, address in enumerate(addresses):
            now = time.monotonic()
            share = None if timeout_at is None else now + (timeout_at - now) / (len(addresses) - place)
            try:
                return await self._open_one(address, share)
            except (OSError, kafka_errors.KafkaError) as failed:
                error = failed
        raise kafka_errors.KafkaConnectionError(f"cannot connect to {node.host}:{node.port}: {error}")

    async def _open_one(self, address: Any, timeout_at: float | None) -> socket.socket:
        family, kind, protocol, _, where = address
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(0)
            for option in self.config["socket_options"]:
                sock.setsockopt(*option)
            await KafkaNetSocket().sock_connect(self._net, sock, where, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise
        return sock


class _Receiving:
    """Receives without copies.

    The library's parser allocates a buffer for each response once it has its length. All of the response but its
    last byte is received right into that buffer; the last byte is handed over in the regular way, which makes the
    parser see a complete response.
    """

    _net: Any
    _sock: Any
    _protocol: Any
    _read: bool
    _closed: bool
    last_read: float

    async def _read_from_sock(self) -> None:
        while self._receiving():
            await self._net.wait_read(self._sock)
            try:
                while self._receiving():
                    self.last_read = time.monotonic()
                    if self._receive_some():
                        # Let the response be acted upon before more is read: a broker that refuses a login says
                        # so and hangs up, and the end of the connection must not hide the reason.
                        await self._net.sleep(0)
            except _WOULD_BLOCK:
                continue
            except kafka_errors.KafkaProtocolError as error:
                self.abort(error=error)
            except Exception as error:
                self.abort(error=kafka_errors.KafkaConnectionError(str(error)))

    def _receive_some(self) -> bool:
        """Receive once; return whether that completed a response."""
        parser = self._protocol.parser
        if not parser._receiving:
            length = _some(self._sock.recv(4 - parser._header.tell()))
            self._protocol.data_received(length)  # and nothing behind it
            return False
        frame = parser._rbuffer
        at, last = frame.tell(), len(frame) - 1
        if at >= last:
            self._await(1)  # before the last byte: it may come alone
            self._protocol.data_received(_some(self._sock.recv(1)))
            return True
        self._await(last - at)
        with memoryview(frame) as whole, whole[at:last] as rest:
            received = self._sock.recv_into(rest)
        if not received:
            raise ConnectionError("the broker closed the connection")
        frame.seek(at + received)
        return False

    def _receiving(self) -> bool:
        return self._read and not self._closed

    def abort(self, error: Exception | None = None) -> None:
        raise NotImplementedError  # the library's transport has it

    def _await(self, wanted: int) -> None:
        """Be woken only once so many bytes are there, as far as that can be arranged."""

    async def handshake_until(self, timeout_at: float | None) -> None:
        """Do what is to be done before requests can be sent."""


class _Transport(_Receiving, KafkaTCPTransport):  # type: ignore[misc]
    abort = KafkaTCPTransport.abort
    _awaited = 1

    def _await(self, wanted: int) -> None:
        # Not with TLS, where some of the bytes may have been taken from the socket already.
        wanted = min(wanted, MOST_AWAITED)
        if wanted != self._awaited and hasattr(socket, "SO_RCVLOWAT"):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
            self._awaited = wanted


class _TlsTransport(_Receiving, KafkaSSLTransport):  # type: ignore[misc]
    abort = KafkaSSLTransport.abort

    async def handshake_until(self, timeout_at: float | None) -> None:
        while True:
            try:
                self._sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at)
            else:
                return


def _some(data: bytes) -> bytes:
    if not data:
        raise ConnectionError("the broker closed the connection")
    return data
