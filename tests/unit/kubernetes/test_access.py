"""Where the API server is and who asks it."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister_operator.cluster.access import AccessError, find_access

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


def test_a_pod_uses_its_service_account_whose_token_is_replaced_now_and_then(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_text(CA)
    access = find_access({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    assert (access.server, access.ca) == ("https://[fd00::1]:443", CA)
    assert access.headers() == {"Authorization": "Bearer first"}
    (tmp_path / "token").write_text("second\n")
    assert access.headers() == {"Authorization": "Bearer second"}


def test_a_kubeconfig_with_data_and_with_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "client.key").write_text("key")
    user = {"client-certificate-data": encoded("certificate"), "client-key": "client.key"}
    environment = kubeconfig(tmp_path, user, **{"certificate-authority-data": encoded(CA)})
    access = find_access(environment, tmp_path / "none")
    assert (access.server, access.ca) == ("https://10.0.0.1:6443", CA)
    assert (access.certificate, access.key, access.headers()) == ("certificate", "key", {})


def test_a_login_by_token_file_and_by_password(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    assert find_access(kubeconfig(tmp_path, {"tokenFile": "token"}), tmp_path / "none").headers() == {
        "Authorization": "Bearer t"
    }
    user = {"username": "ann", "password": "secret"}
    access = find_access(kubeconfig(tmp_path, user), tmp_path / "none")
    assert access.headers() == {"Authorization": "Basic " + encoded("ann:secret")}
    assert "secret" not in repr(access)


def test_of_several_kubeconfigs_the_first_counts(tmp_path: Path) -> None:
    names = [kubeconfig(tmp_path, {"token": token}, token)["KUBECONFIG"] for token in ("one", "two")]
    assert find_access({"KUBECONFIG": ":".join(names)}, tmp_path / "none").fixed_token == "one"


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"exec": {"command": "aws"}}, "user u logs in by a program"),
        ({"client-certificate": "missing.pem"}, "client-certificate cannot be read"),
    ],
)
def test_what_cannot_be_used_is_named_with_a_remedy(tmp_path: Path, user: dict[str, Any], message: str) -> None:
    with pytest.raises(AccessError, match=re.escape(message)):
        find_access(kubeconfig(tmp_path, user), tmp_path / "none")


def test_neither_account_nor_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"neither a service account in .* nor a kubeconfig"):
        find_access({"KUBECONFIG": str(tmp_path / "none")}, tmp_path)


def test_an_incomplete_kubeconfig_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("current-context: there\n")
    with pytest.raises(AccessError, match="context 'there' is not complete"):
        find_access({"KUBECONFIG": str(tmp_path / "config")}, tmp_path / "none")
