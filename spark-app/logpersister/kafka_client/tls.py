"""TLS from PEM texts: no file of ours ever holds a private key."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from logpersister.manifest.kafka import SecuritySpec
from logpersister.manifest.problems import ManifestError, Problem
from logpersister.manifest.secrets import Secrets, SecretValue

_PATH = "spec.kafka.security.secretName"


def ssl_context(security: SecuritySpec, secrets: Secrets) -> ssl.SSLContext:
    """Return the context for brokers: authorities, client certificate, host name check.

    Raises `ManifestError` naming the key of the Secret that cannot be used, never what is in it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = security.verify_hostname
    name = security.secret_name
    authority = secrets.get(name, "ca.crt") if name else None
    certificate = secrets.get(name, "tls.crt") if name else None
    key = secrets.get(name, "tls.key") if name else None
    if authority is None:
        context.load_default_certs()
    else:
        _load_authority(context, authority)
    if certificate is not None and key is not None:
        _load_identity(context, certificate, key)
    elif certificate is not None or key is not None:
        there, missing = ("tls.crt", "tls.key") if certificate is not None else ("tls.key", "tls.crt")
        raise _unusable(f"names the Secret {name}, which has {there} but no {missing}", "add it, or remove both")
    return context


def _load_authority(context: ssl.SSLContext, authority: SecretValue) -> None:
    try:
        context.load_verify_locations(cadata=authority.reveal())
    except (ssl.SSLError, ValueError):
        problem = "names a Secret whose ca.crt is not a certificate in PEM"
    else:
        return
    raise _unusable(problem, "put the authority's certificate there, beginning with -----BEGIN CERTIFICATE-----")


class _EncryptedKeyError(Exception):
    """The key asks for a passphrase."""


def _no_passphrase() -> str:
    # Without this OpenSSL would ask on the terminal, and wait.
    raise _EncryptedKeyError


def _load_identity(context: ssl.SSLContext, certificate: SecretValue, key: SecretValue) -> None:
    try:
        # One file may hold both; the key first or last makes no difference.
        with _as_file(f"{certificate.reveal()}\n{key.reveal()}\n") as file:
            context.load_cert_chain(file, password=_no_passphrase)
    except _EncryptedKeyError:
        problem = "names a Secret whose tls.key is encrypted", "store it decrypted: openssl pkey -in tls.key"
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            problem = "names a Secret whose tls.key does not belong to its tls.crt", "store the pair"
        else:
            problem = (
                "names a Secret whose tls.crt or tls.key is not PEM",
                "put there what begins with -----BEGIN CERTIFICATE----- and -----BEGIN PRIVATE KEY-----",
            )
    else:
        return
    raise _unusable(*problem)


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


def _unusable(expectation: str, remedy: str) -> ManifestError:
    return ManifestError([Problem(_PATH, expectation, remedy)])
