"""The API server of the tests: real, and ours alone. test_etcd_restore.py kills it: it comes back with what it had."""

import socket
import ssl

import pytest

from tests.stack.kubernetes import ApiServer, Client, Refused


def test_it_has_started(api: Client) -> None:
    assert api.get("/version")["gitVersion"] == "v1.34.4"
    namespaces = api.get("/api/v1/namespaces")["items"]
    assert "default" in {namespace["metadata"]["name"] for namespace in namespaces}


def test_only_who_has_the_certificate_may_ask(api_server: ApiServer) -> None:
    context = ssl.create_default_context(cafile=api_server.kube_apiserver.directory / "pki" / "ca.crt")
    with Client("127.0.0.1", api_server.kube_apiserver.port, context) as stranger, pytest.raises(Refused) as caught:
        stranger.get("/api/v1/namespaces")
    assert caught.value.code == 403
    private = [api_server.kubeconfig, *(api_server.kube_apiserver.directory / "pki").glob("*.key")]
    assert {file.stat().st_mode & 0o077 for file in private} == {0}


def test_nobody_else_can_reach_it(api_server: ApiServer) -> None:
    for port in (api_server.kube_apiserver.port, api_server.etcd.port):
        with socket.socket() as other:
            other.bind(("127.0.0.2", port))  # taken already if it listened on every address
