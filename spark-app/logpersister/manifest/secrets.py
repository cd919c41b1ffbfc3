"""Secrets by name, resolved the same way inside and outside Kubernetes, and kept out of everything that is printed.

A key ``password`` of a Secret ``clicks-kafka`` is looked for in

1. the file ``$LOGPERSISTER_SECRETS_DIR/clicks-kafka/password`` (a mounted Secret of Kubernetes has this shape),
2. the environment variable ``LOGPERSISTER_SECRET_CLICKS_KAFKA_PASSWORD`` (upper case, ``-`` and ``.`` as ``_``).

It is read again at each use, so a rotated Secret is seen without a restart. Whoever needs a secret resolves it in its
own process: nothing here can be pickled, so that no secret travels in a Spark closure.
"""

import hmac
import os
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.blocks.storage import StorageSpec

DIRECTORY_VARIABLE = "LOGPERSISTER_SECRETS_DIR"
VARIABLE_PREFIX = "LOGPERSISTER_SECRET_"
HIDDEN = "[hidden]"
"""What messages and logs have instead of a secret."""
LARGEST_SECRET = 1_000_000
"""Bytes; Kubernetes limits a Secret to 1 MiB."""
AUTHORITY = "ca.crt"
"""Key of a Secret that has the certificates of an authority, as PEM."""
_CERTIFICATE = re.compile(r"-----BEGIN (?P<kind>(X509 )?CERTIFICATE)-----.*?-----END (?P=kind)-----", re.DOTALL)
"""Certificate in PEM, by one of the two names that Python reads."""


class SecretValue:
    """A value that only `reveal` shows. Its repr says where it comes from."""

    __slots__ = ("_origin", "_value")

    def __init__(self, value: str, origin: str) -> None:
        self._value = value
        self._origin = origin

    def reveal(self) -> str:
        """Return the secret itself, to hand it to a client library, and to nothing else."""
        return self._value

    def __repr__(self) -> str:
        return f"<secret {self._origin}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretValue):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(self._origin)

    def __copy__(self) -> "SecretValue":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "SecretValue":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} must not be pickled: resolve the secret in the process that needs it")


class CurrentSecret:
    """A value that is read again whenever it is revealed, for clients that keep what they were given first."""

    __slots__ = ("_latest", "_read")

    def __init__(self, read: Callable[[], SecretValue]) -> None:
        """Read it once; raises what `read` raises."""
        self._read = read
        self._latest = read()

    def reveal(self) -> str:
        """Return the secret as it is now; if it cannot be read now, as it was."""
        with suppress(ManifestError):
            self._latest = self._read()
        return self._latest.reveal()

    def __repr__(self) -> str:
        return repr(self._latest)

    def __deepcopy__(self, memo: dict[int, object]) -> "CurrentSecret":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} must not be pickled: resolve the secret in the process that needs it")


class Secrets:
    """Finds secrets in a directory and in environment variables."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """Take directory and values from environment variables: those of this process unless others are given."""
        self._environment = os.environ if environment is None else environment
        directory = self._environment.get(DIRECTORY_VARIABLE)
        self._directory = Path(directory) if directory else None

    def __repr__(self) -> str:
        return f"<secrets of {self._directory or 'environment variables'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Secrets must not be pickled: make Secrets() in the process that needs them")

    def get(self, name: str, key: str) -> SecretValue | None:
        """Return a key of a Secret, or None when neither place has it.

        Line breaks at the end are dropped: editors and ``echo`` add them. Raises `ManifestError` for a file that is
        there but cannot be used.
        """
        value = self._from_file(name, key)
        if value is None:
            value = self._environment.get(variable_name(name, key))
        return None if value is None else SecretValue(value.rstrip("\r\n"), f"{name}/{key}")

    def require(self, name: str, key: str, path: str) -> SecretValue:
        """Return a key of a Secret that must be there and not empty.

        ``path`` is the field of the manifest that names the Secret, for the message of the `ManifestError`.
        """
        value = self.get(name, key)
        if value is None:
            raise _error(path, f"names the Secret {name}, whose key {key} was not found", self._where_to_put(name, key))
        if not value.reveal():
            raise _error(path, f"names the Secret {name}, whose key {key} is empty", self._where_to_put(name, key))
        return value

    def authority(self, name: str, path: str) -> str | None:
        """Return the certificates in ``ca.crt`` of a Secret as PEM; None when the Secret has no such key.

        Text around the certificates is left out, as RFC 7468 (section 2) allows it there and Python's ssl does not.
        Raises `ManifestError` when there is no certificate; ``path`` is the field that names the Secret.
        """
        value = self.get(name, AUTHORITY)
        if value is None:
            return None
        found = "\n".join(one[0] for one in _CERTIFICATE.finditer(value.reveal()))
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
        except (ssl.SSLError, ValueError):
            pass
        else:
            return found
        remedy = "put the authority's certificate there, beginning with -----BEGIN CERTIFICATE-----"
        raise _error(path, f"names the Secret {name}, whose {AUTHORITY} is not a certificate in PEM", remedy)

    def _from_file(self, name: str, key: str) -> str | None:
        if self._directory is None:
            return None
        file = self._directory / name / key
        try:
            with file.open("rb") as content:
                value = content.read(LARGEST_SECRET + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _error(
                "", f"the secret file {file} cannot be read ({error.strerror})", "make it a readable file"
            ) from None
        if len(value) > LARGEST_SECRET:
            raise _error(
                "", f"the secret file {file} is larger than {LARGEST_SECRET} bytes", "put only the value in it"
            )
        try:
            # Comments around PEM may be of any encoding; what counts in it is ASCII.
            text = value.decode(errors="replace" if b"-----BEGIN " in value else "strict")
        except UnicodeDecodeError:
            text = None
        if text is None:  # outside the except block, whose exception holds the bytes
            raise _error(
                "", f"the secret file {file} is not text (UTF-8)", "put the value in it as text; PEM for certificates"
            )
        return text

    def _where_to_put(self, name: str, key: str) -> str:
        variable = variable_name(name, key)
        if self._directory is not None:
            return f"put it in the file {self._directory / name / key}, or in the variable {variable}"
        return (
            f"put it in the variable {variable}, or set {DIRECTORY_VARIABLE} and put it in the file {name}/{key} there"
        )


def variable_name(name: str, key: str) -> str:
    """Return the environment variable of a key of a Secret."""
    return VARIABLE_PREFIX + f"{name}_{key}".upper().replace("-", "_").replace(".", "_")


def _error(path: str, expectation: str, remedy: str) -> ManifestError:
    return ManifestError([Problem(path, expectation, remedy)])


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """What a client of AWS logs in with, resolved."""

    access_key_id: SecretValue
    secret_access_key: SecretValue
    session_token: SecretValue | None

    @property
    def secrets(self) -> "tuple[SecretValue, ...]":
        """Values that no message may hold."""
        return (self.secret_access_key, *([] if self.session_token is None else [self.session_token]))

    def revealed(self) -> dict[str, str | None]:
        """Return the keys as boto3's sessions take them."""
        token = self.session_token
        return {
            "aws_access_key_id": self.access_key_id.reveal(),
            "aws_secret_access_key": self.secret_access_key.reveal(),
            "aws_session_token": token.reveal() if token else None,
        }


def aws_keys(secret_name: str | None, secrets: Secrets, path: str) -> AwsKeys | None:
    """Return the keys of a Secret; None: the SDK's own chain is wanted. `path`: the field that names it."""
    if secret_name is None:
        return None
    return AwsKeys(
        access_key_id=secrets.require(secret_name, "AWS_ACCESS_KEY_ID", path),
        secret_access_key=secrets.require(secret_name, "AWS_SECRET_ACCESS_KEY", path),
        session_token=secrets.get(secret_name, "AWS_SESSION_TOKEN"),
    )


def storage_credentials(storage: StorageSpec, secrets: Secrets) -> AwsKeys | None:
    """Return the credentials that ``spec.storage.secretName`` names; None: the SDK's own chain is wanted."""
    return aws_keys(storage.secret_name, secrets, "spec.storage.secretName")


def storage_authority(storage: StorageSpec, secrets: Secrets) -> str | None:
    """Return the PEM of the authority that ``spec.storage.caSecretName`` names; None: the public ones."""
    if storage.ca_secret_name is None:
        return None
    path = "spec.storage.caSecretName"
    secrets.require(storage.ca_secret_name, AUTHORITY, path)
    return secrets.authority(storage.ca_secret_name, path)
