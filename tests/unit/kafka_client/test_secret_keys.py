"""Keys of Secrets: our own names, and those of Strimzi's users."""

from pathlib import Path

import pytest

from logpersister.forms.problems import ManifestError
from logpersister.kafka_client import secret_keys
from logpersister.kafka_client.secret_keys import jaas_options
from logpersister.kafka_client.tls import ssl_context
from logpersister.manifest.blocks.kafka import SecuritySpec
from logpersister.manifest.secrets import DIRECTORY_VARIABLE, Secrets
from tests.stack import strimzi
from tests.stack.tls import Certificates

USER, PASSWORD = "my-user", "correct-horse"
SCRAM = strimzi.scram_user(USER, PASSWORD)


def mounted(directory: Path, **secrets: strimzi.SecretData) -> Secrets:
    for name, data in secrets.items():
        strimzi.write(directory, name, data)
    return Secrets({DIRECTORY_VARIABLE: str(directory)})


def test_a_scram_user_of_strimzi(tmp_path: Path) -> None:
    found = secret_keys.login("k", mounted(tmp_path, k=SCRAM))
    assert (found.user.reveal(), found.password.reveal()) == (USER, PASSWORD)
    assert PASSWORD not in repr(found)


def test_a_name_of_its_own_comes_first(tmp_path: Path) -> None:
    found = secret_keys.login("k", mounted(tmp_path, k={**SCRAM, "username": b"other"}))
    assert found.user.reveal() == "other"


def test_a_password_is_taken_as_it_is_when_the_line_is_broken_by_it(tmp_path: Path) -> None:
    found = secret_keys.login("k", mounted(tmp_path, k=strimzi.scram_user(USER, 'a"b')))
    assert (found.user.reveal(), found.password.reveal()) == (USER, 'a"b')


@pytest.mark.parametrize(
    ("data", "lacks"),
    [
        ({"sasl.jaas.config": b"a.b.ScramLoginModule required;"}, "username"),
        ({"sasl.jaas.config": b'a.b.ScramLoginModule required username="u";'}, "password"),
        ({"sasl.jaas.config": b'a.b.Plain required username="u" password="";'}, "password"),
    ],
)
def test_what_a_line_of_jaas_lacks_is_named(tmp_path: Path, data: strimzi.SecretData, lacks: str) -> None:
    with pytest.raises(ManifestError, match=rf"names the Secret k, whose key sasl\.jaas\.config has no {lacks}"):
        secret_keys.login("k", mounted(tmp_path, k=data))


def test_options_of_jaas() -> None:
    line = r'org.apache.Plain required serviceName="x" username = "a\"b\\" password="p;=q" user_a="no";'
    assert jaas_options(line) == {"username": 'a"b\\', "password": "p;=q"}


def names_of(security: SecuritySpec, secrets: Secrets) -> str:
    return str([authority["subject"] for authority in ssl_context(security, secrets).get_ca_certs()])


def test_a_tls_user_of_strimzi_with_the_authority_of_its_cluster(tmp_path: Path, certificates: Certificates) -> None:
    found = mounted(tmp_path, k=strimzi.tls_user(certificates), ca=strimzi.cluster_ca(certificates))
    names = names_of(SecuritySpec(protocol="SSL", secret_name="k", ca_secret_name="ca"), found)
    assert "LogPersister test authority" in names
    assert "clients-ca" not in names


def test_the_authority_of_clients_is_none_of_brokers(tmp_path: Path, certificates: Certificates) -> None:
    found = mounted(tmp_path, k=strimzi.tls_user(certificates))
    assert secret_keys.authority(SecuritySpec(protocol="SSL", secret_name="k"), found) is None
    assert secret_keys.identity(SecuritySpec(protocol="SSL", secret_name="k"), found) is not None


def test_an_authority_that_is_not_there_is_named(tmp_path: Path, certificates: Certificates) -> None:
    found = mounted(tmp_path, k=strimzi.tls_user(certificates), ca={"ca.crt": b"nothing"})
    for name, expected in (
        ("ca", "names the Secret ca, whose ca.crt is not"),
        ("no", "names the Secret no, whose key ca"),
    ):
        with pytest.raises(ManifestError) as caught:
            ssl_context(SecuritySpec(protocol="SSL", secret_name="k", ca_secret_name=name), found)
        assert str(caught.value).startswith(f"spec.kafka.security.caSecretName: {expected}")
