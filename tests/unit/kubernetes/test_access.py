"""Where the API server is and who asks it."""

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from kubernetes.client import Configuration

from logpersister_operator.cluster.access import Access, AccessError, find_access
from logpersister_operator.cluster.connection import ClusterError, Connection
from logpersister_operator.handlers import connection_info
from tests.stack.http_server import serving

CA = "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(folder: Path, user: dict[str, Any], name: str = "config", **cluster: Any) -> dict[str, str]:
    """Write a kubeconfig; return the environment that names it."""
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    (folder / name).write_text(yaml.safe_dump(document))
    return {"KUBECONFIG": str(folder / name)}


def test_a_pod_uses_its_service_account_whose_token_is_replaced_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_text(CA)
    access = find_access({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    found = access.configuration
    assert (found.host, found.ssl_ca_cert) == ("https://[fd00::1]:443", str(tmp_path / "ca.crt"))
    assert found.proxy is None, "the API server is in the cluster"
    assert access.authorization() == "bearer first"
    (tmp_path / "token").write_text("second")
    access.renew(found)
    assert access.authorization() == "bearer second"
    renewed = access.configuration
    access.renew(found)
    assert access.configuration is renewed, "one refusal is told by many requests"


def test_a_kubeconfig_with_data_and_with_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    (tmp_path / "client.key").write_text("key")
    user = {"client-certificate-data": encoded("certificate"), "client-key": "client.key"}
    environment = kubeconfig(tmp_path, user, **{"certificate-authority-data": encoded(CA)})
    access = find_access(environment, tmp_path / "none")
    found = access.configuration
    texts = [Path(path).read_text() for path in (found.ssl_ca_cert, found.cert_file, found.key_file)]
    assert (found.host, texts) == ("https://10.0.0.1:6443", [CA, "certificate", "key"])
    assert (access.authorization(), found.proxy) == (None, None)
    monkeypatch.setenv("NO_PROXY", "")
    assert find_access(environment, tmp_path / "none").configuration.proxy == "http://proxy:3128"


def test_a_login_by_token_file_by_password_and_by_a_program(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "of-exec"},
    }
    command = {"apiVersion": program["apiVersion"], "command": "echo", "args": [json.dumps(program)]}
    users: dict[str, dict[str, Any]] = {
        "Bearer t": {"tokenFile": "token"},
        "Basic " + encoded("ann:secret"): {"username": "ann", "password": "secret"},
        "Bearer of-exec": {"exec": command},
    }
    for expected, user in users.items():
        access = find_access(kubeconfig(tmp_path, user), tmp_path / "none")
        assert access.authorization() == expected
        info = connection_info(access)
        assert f"{info.scheme} {info.token}" == expected, "kopf logs in alike"


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"exec": {"apiVersion": "v1", "command": "false"}}, "context 'here': the user has no credentials"),
        ({"client-certificate": "missing.pem", "client-key": "x"}, "missing.pem"),
    ],
)
def test_what_cannot_be_used_is_named_with_a_remedy(tmp_path: Path, user: dict[str, Any], message: str) -> None:
    with pytest.raises(AccessError, match=re.escape(message)):
        find_access(kubeconfig(tmp_path, user), tmp_path / "none")


@contextmanager
def answering(*answers: tuple[int, bytes], headers: Mapping[str, str] = MappingProxyType({})) -> Iterator[Connection]:
    """Serve these statuses and bodies one after the other; yield the way there."""
    left = iter(answers)
    with serving(lambda _: next(left), headers=headers) as url:
        yield Connection(Access(lambda: Configuration(url)))


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_api_server_is_asked_again_soon_however_long_it_wants_to_be_left_alone(status: int) -> None:
    began = time.monotonic()
    with answering((status, b""), (200, b'{"kind": "Pod"}'), headers={"Retry-After": "3600"}) as connection:
        assert connection.request("GET", "/", seconds=5.0) == {"kind": "Pod"}
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[1]", b"7"])
def test_an_answer_that_is_not_the_api_servers_is_an_outage(body: bytes) -> None:
    with answering((200, body)) as connection, pytest.raises(ClusterError, match=r"GET /: the answer is") as raised:
        connection.request("GET", "/", seconds=5.0)
    assert raised.value.status == 0, "nobody has refused anything"
