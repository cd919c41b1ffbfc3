"""TLS from PEM texts: no file of ours ever holds a private key."""

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from logpersister.forms.problems import ManifestError, Problem
from logpersister.kafka_client import secret_keys
from logpersister.kafka_client.secret_keys import PATH, Identity
from logpersister.manifest.blocks.kafka import SecuritySpec
from logpersister.manifest.secrets import Secrets

log = structlog.get_logger(__name__)


class _CurrentContext(ssl.SSLContext):
    """Makes each connection by what the Secrets hold then: clients keep the context that they were given first."""

    read: Callable[[], "_Held"]
    made: "tuple[_Held, ssl.SSLContext]"
    make: "Callable[[_Held], ssl.SSLContext]"

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        try:
            held = self.read()
            if held != self.made[0]:
                self.made = held, self.make(held)
                log.info("kafka.tls_renewed")
        except ManifestError as error:  # half written, perhaps: what was there before may do
            log.warning("kafka.tls_not_renewed", error=str(error))
        newest = self.made[1]
        if newest is self:
            return super().wrap_socket(*arguments, **options)
        return newest.wrap_socket(*arguments, **options)


@dataclass(frozen=True, slots=True)
class _Held:
    """What the Secrets hold for connections."""

    authority: str | None
    """Certificates as PEM."""
    identity: Identity | None


def ssl_context(security: SecuritySpec, secrets: Secrets) -> ssl.SSLContext:
    """Return the context for brokers: authorities, client certificate, host name check.

    Connections that it makes later use the Secrets as they are then. Raises `ManifestError` naming the key of the
    Secret that cannot be used, never what is in it.
    """

    def read() -> _Held:
        return _Held(secret_keys.authority(security, secrets), secret_keys.identity(security, secrets))

    def make(held: _Held) -> ssl.SSLContext:
        return _filled(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), security, held)

    context, held = _CurrentContext(ssl.PROTOCOL_TLS_CLIENT), read()
    context.read, context.make, context.made = read, make, (held, context)
    return _filled(context, security, held)


def _filled(context: ssl.SSLContext, security: SecuritySpec, held: _Held) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = security.verify_hostname
    if held.authority is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata=held.authority)
    if held.identity is not None:
        _load_identity(context, held.identity)
    return context


class _EncryptedKeyError(Exception):
    """The key asks for a passphrase."""


def _no_passphrase() -> str:
    # Without this OpenSSL would ask on the terminal, and wait.
    raise _EncryptedKeyError


def _load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    certificate, key = identity.names
    try:
        # One file may hold both; the key first or last makes no difference.
        with _as_file(f"{identity.certificate.reveal()}\n{identity.key.reveal()}\n") as file:
            context.load_cert_chain(file, password=_no_passphrase)
    except _EncryptedKeyError:
        problem = f"names a Secret whose {key} is encrypted", f"store it decrypted: openssl pkey -in {key}"
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            problem = f"names a Secret whose {key} does not belong to its {certificate}", "store the pair"
        else:
            problem = (
                f"names a Secret whose {certificate} or {key} is not PEM",
                "put there what begins with -----BEGIN CERTIFICATE----- and -----BEGIN PRIVATE KEY-----",
            )
    else:
        return
    raise ManifestError([Problem(PATH, *problem)])


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Give a text a path, because OpenSSL wants one: in memory on Linux, elsewhere a private file that is removed."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("logpersister-tls", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.NamedTemporaryFile() as file:  # mode 0600
        file.write(text.encode())
        file.flush()
        yield file.name
