"""Secrets are found in both places, and shown in none."""

import json
import logging
import pickle
import traceback
from pathlib import Path

import pytest

from logpersister.manifest import ManifestError, parse, parse_text
from logpersister.manifest.secrets import Secrets, storage_authority, storage_credentials
from tests.stack.authority import Authority
from tests.unit.manifest.documents import accepted, changed

SECRET = "hunter2-very-secret"
PATH = "spec.kafka.security.secretName"


def write(directory: Path, name: str, key: str, value: str | bytes) -> None:
    folder = directory / name
    folder.mkdir(exist_ok=True)
    (folder / key).write_bytes(value.encode() if isinstance(value, str) else value)


def test_the_file_comes_first(tmp_path: Path) -> None:
    environment = {
        "LOGPERSISTER_SECRETS_DIR": str(tmp_path),
        "LOGPERSISTER_SECRET_CLICKS_KAFKA_PASSWORD": "from the environment",
        "LOGPERSISTER_SECRET_CLICKS_KAFKA_TLS_CRT": "certificate",
    }
    write(tmp_path, "clicks-kafka", "password", SECRET)
    secrets = Secrets(environment)
    assert secrets.require("clicks-kafka", "password", PATH).reveal() == SECRET
    assert secrets.require("clicks-kafka", "tls.crt", PATH).reveal() == "certificate"
    assert secrets.get("clicks-kafka", "username") is None
    assert Secrets({}).get("clicks-kafka", "password") is None


def test_the_process_environment_is_the_default(secrets_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(secrets_dir, "s3", "AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("LOGPERSISTER_SECRET_S3_AWS_SECRET_ACCESS_KEY", "b")
    storage = accepted({"spec.storage.secretName": "s3"}).spec.storage
    credentials = storage_credentials(storage, Secrets())
    assert credentials is not None
    assert (credentials.access_key_id.reveal(), credentials.secret_access_key.reveal()) == ("a", "b")
    assert credentials.session_token is None


def test_a_rotated_secret_is_seen(tmp_path: Path) -> None:
    secrets = Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)})
    for value in ("old", "new"):
        write(tmp_path, "a", "token", value)
        assert secrets.require("a", "token", PATH).reveal() == value


@pytest.mark.parametrize("stored", ["value\n", "value\r\n", "value", "value\n\n"])
def test_line_breaks_at_the_end_are_dropped(tmp_path: Path, stored: str) -> None:
    write(tmp_path, "a", "k", stored)
    assert Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)}).require("a", "k", PATH).reveal() == "value"
    assert Secrets({"LOGPERSISTER_SECRET_A_K": stored}).require("a", "k", PATH).reveal() == "value"


def test_a_missing_secret_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        Secrets({}).require("clicks-kafka", "password", PATH)
    assert str(caught.value) == (
        "spec.kafka.security.secretName: names the Secret clicks-kafka, whose key password was not found; put it in "
        "the variable LOGPERSISTER_SECRET_CLICKS_KAFKA_PASSWORD, or set LOGPERSISTER_SECRETS_DIR and put it in the "
        "file clicks-kafka/password there"
    )
    with pytest.raises(ManifestError, match=f"put it in the file {tmp_path}/a/k, or in the variable"):
        Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)}).require("a", "k", PATH)
    with pytest.raises(ManifestError, match="whose key k is empty"):
        Secrets({"LOGPERSISTER_SECRET_A_K": "\n"}).require("a", "k", PATH)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    secrets = Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)})
    write(tmp_path, "a", "binary", SECRET.encode() + b"\xff")
    with pytest.raises(ManifestError, match=r"binary is not text .UTF-8.") as caught:
        secrets.get("a", "binary")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    (tmp_path / "a" / "folder").mkdir()
    with pytest.raises(ManifestError, match=r"folder cannot be read .Is a directory."):
        secrets.get("a", "folder")
    write(tmp_path, "a", "large", b"x" * 1_000_001)
    with pytest.raises(ManifestError, match="is larger than"):
        secrets.get("a", "large")
    (tmp_path / "file").write_text("x")
    assert secrets.get("file", "k") is None


def test_credentials_of_the_sdk(tmp_path: Path) -> None:
    storage = accepted({}).spec.storage
    assert storage_credentials(storage, Secrets({})) is None
    assert storage_authority(storage, Secrets({})) is None
    storage = accepted({"spec.storage.caSecretName": "ca", "spec.storage.secretName": "s3"}).spec.storage
    with pytest.raises(ManifestError, match=r"spec\.storage\.secretName: names the Secret s3, whose key AWS_ACCESS"):
        storage_credentials(storage, Secrets({}))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_comments_around_certificates_may_be_in_any_letters(tmp_path: Path, encoding: str) -> None:
    storage = accepted({"spec.storage.caSecretName": "ca"}).spec.storage
    pem = Authority("Test").certificate
    write(tmp_path, "ca", "ca.crt", "# Tanúsítvány\n".encode(encoding) + pem + "# köszönöm\n".encode(encoding))
    secrets = Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)})
    assert storage_authority(storage, secrets) == pem.decode().strip()
    write(tmp_path, "ca", "ca.crt", pem + (older := pem.replace(b"CERTIFICATE", b"X509 CERTIFICATE")))
    assert storage_authority(storage, secrets) == (pem + older).decode().strip()
    write(tmp_path, "ca", "ca.crt", b"PEM")
    with pytest.raises(ManifestError, match=r"caSecretName: names the Secret ca, whose ca.crt is not a certificate"):
        storage_authority(storage, secrets)


def test_a_value_is_shown_by_nothing(caplog: pytest.LogCaptureFixture) -> None:
    secrets = Secrets({"LOGPERSISTER_SECRET_A_K": SECRET})
    value = secrets.require("a", "k", PATH)
    logging.getLogger("test").warning("%s %r", value, {"password": value})
    shown = [
        repr(value),
        str(value),
        f"{value}",
        f"{value!r:>40}",
        "%s" % value,  # noqa: UP031
        repr([value]),
        repr(secrets),
        str(secrets),
        json.dumps({"value": value}, default=str),
        caplog.text,
    ]
    assert not [text for text in shown if SECRET in text]
    assert str(value) == "<secret a/k>"
    assert not hasattr(value, "__dict__")
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps({"value": value})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_here_can_be_pickled(protocol: int) -> None:
    secrets = Secrets({"LOGPERSISTER_SECRET_A_K": SECRET})
    with pytest.raises(TypeError, match="<secret a/k> must not be pickled: resolve the secret"):
        pickle.dumps(secrets.require("a", "k", PATH), protocol)
    with pytest.raises(TypeError, match="Secrets must not be pickled"):
        pickle.dumps(secrets, protocol)


MISPLACED = [
    {"spec.kafka.password": SECRET},
    {"spec.kafka.security": {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretName": "a", "password": SECRET}},
    {"spec.kafka.security": {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretName": SECRET + "!"}},
    {"spec.kafka.bootstrapServers": f"user:{SECRET}@broker:9092"},
    {"spec.storage.secretName": SECRET.upper()},
    {"spec.storage.endpoint": f"http://user:{SECRET}@s3:9000"},
    {"spec.storage.secretAccessKey": SECRET},
    {"spec.storage.encryption": [SECRET]},
    {"spec.spark": {"conf": {"spark.hadoop.fs.s3a.secret.key": SECRET}}},
]


@pytest.mark.parametrize("changes", MISPLACED, ids=lambda changes: next(iter(changes)))
def test_a_secret_in_the_wrong_place_is_refused_and_not_shown(changes: dict[str, object]) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(changed(changes))
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(caught.value.problems)
    assert SECRET.lower() not in shown.lower().replace(repr(changes).lower(), "")
    assert SECRET not in pickle.dumps(caught.value).decode("latin-1")


def test_a_syntax_error_does_not_quote_the_line() -> None:
    with pytest.raises(ManifestError) as caught:
        parse_text(f"spec:\n  password: [{SECRET}\n")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_error_survives_pickling() -> None:
    with pytest.raises(ManifestError) as caught:
        parse_text("kind: x", "clicks.yaml")
    restored = pickle.loads(pickle.dumps(caught.value))
    assert str(restored) == str(caught.value)
    assert restored.problems == caught.value.problems
