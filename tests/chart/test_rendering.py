"""What the chart renders with which values."""

import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, start_http_server

from logpersister_operator.member_defaults import CA_DIRECTORY, MemberDefaults
from logpersister_operator.release import main as release
from logpersister_operator.settings import PREFIX, Settings
from tests.chart.combinations import CHOSEN_IDS, COMBINATIONS, EVERYTHING, NAMESPACES, NO_IDS, NOTHING
from tests.chart.helm import HelmError, Rendered, is_hook, render


@pytest.fixture(scope="module")
def default() -> Rendered:
    return render()


@pytest.fixture(scope="module")
def everything() -> Rendered:
    return render(EVERYTHING)


def test_the_operator_reads_the_settings_of_the_chart(default: Rendered, everything: Rendered) -> None:
    assert Settings.from_environment(default.environment()) == Settings(
        image="logpersister:0.1.0", lease="logpersister-system/logpersister-operator"
    )
    assert Settings.from_environment(everything.environment()) == Settings(
        image="registry.example.org/data/logpersister:0.1.0",
        max_concurrent_rollouts=3,
        canary_namespaces=("staging", "*-dev"),
        canary_namespace_selector="environment=staging",
        resource_selector="shard in (a, b)",
        namespace_selector="logpersister in (enabled)",
        member_defaults=MemberDefaults.model_validate(EVERYTHING["memberDefaults"]),
        executors=False,
        lag_seconds=10.5,
        log_level="debug",
        lease="logpersister-system/logpersister-operator",
    )
    assert Settings.from_environment(render(NAMESPACES).environment()).namespaces == ("logs", "audit")


def test_every_setting_of_the_operator_is_set(everything: Rendered) -> None:
    assert everything.environment().keys() == {PREFIX + setting.name.upper() for setting in fields(Settings)}


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_pods_meet_the_restricted_standard(values: dict[str, Any]) -> None:
    rendered = render(values)
    pods = [one["spec"]["template"]["spec"] for kind in ("Deployment", "Job") for one in rendered.of_kind(kind)]
    assert pods
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        assert {kind for volume in pod["volumes"] for kind in volume.keys() - {"name"}} <= {"emptyDir", "configMap"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["requests"]["cpu"]


def test_users_and_groups_may_be_the_clusters_choice(default: Rendered) -> None:
    free = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for rendered, expected in ((default, free | dict.fromkeys(NO_IDS, 10001)), (render(CHOSEN_IDS), free)):
        pods = [one["spec"]["template"]["spec"] for kind in ("Deployment", "Job") for one in rendered.of_kind(kind)]
        members = Settings.from_environment(rendered.environment()).member_defaults
        assert [pod["securityContext"] for pod in pods] == [expected] * 2
        assert members.pod_security_context == expected


def test_the_operator_goes_the_way_out_of_its_members(default: Rendered, everything: Rendered) -> None:
    """It asks the same brokers and identity providers; its own variables come last."""
    assert default.environment(settings=False) == {}
    members = Settings.from_environment(everything.environment()).member_defaults.pod("member", {})
    (container,) = members["containers"]
    expected = {one["name"]: one["value"] for one in container["env"]}
    assert expected.keys() >= {"HTTPS_PROXY", "SSL_CERT_FILE"}
    found = everything.environment(settings=False)
    assert found == expected | {"KUBERNETES_REQUEST_ID": "text"}
    assert list(found)[-1] == "KUBERNETES_REQUEST_ID"
    pod = everything.pod()
    assert [volume["name"] for volume in pod["volumes"]] == ["tmp", "extra-ca", "login"]
    # The operator of a release before must come up where nobody has made the ConfigMap in its namespace.
    assert pod["volumes"][1]["configMap"] == {"name": "corporate-ca", "optional": True}
    mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    assert mounts == {"tmp": "/tmp", "extra-ca": CA_DIRECTORY, "login": "/login"}


def test_variables_of_the_user_replace_those_of_the_chart_and_none_stands_twice() -> None:
    own = [{"name": "HTTPS_PROXY", "value": "http://own:1"}, {"name": f"{PREFIX}THREADS", "value": "4"}]
    proxy = {"proxy": {"https": "http://theirs:1"}}
    found = render({"memberDefaults": proxy, "settings": {"threads": 8}, "extraEnv": own})
    (container,) = found.pod()["containers"]
    names = [one["name"] for one in container["env"]]
    assert sorted(names) == sorted(set(names)), "a server-side apply refuses what stands twice"
    assert [one for one in container["env"] if one["name"] in ("HTTPS_PROXY", f"{PREFIX}THREADS")] == own
    assert "https_proxy" in names


def test_helm_test_asks_the_operator_for_its_metrics(everything: Rendered) -> None:
    pod = everything.one("Pod", "logpersister-test")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    service = everything.one("Service")
    selected, labels = service["spec"]["selector"].items(), pod["metadata"]["labels"].items()
    assert not selected <= labels, "it is none of the operator's pods"
    (container,) = pod["spec"]["containers"]
    place = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert container["args"] == [f"http://{place}:{service['spec']['ports'][0]['port']}/metrics"]

    def ask(registry: CollectorRegistry) -> int:
        server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
        try:
            url = f"http://127.0.0.1:{server.server_port}/metrics"
            return subprocess.run([sys.executable, *container["command"][1:], url], check=False, timeout=60).returncode
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    others = CollectorRegistry()
    assert ask(others) == 1
    Counter("logpersister_operator_reconciles", "Reconciliations", registry=others)
    assert ask(others) == 0


def test_several_replicas_are_spread_unless_somebody_says_how() -> None:
    assert "topologySpreadConstraints" not in render().pod()
    spread = render({"replicas": 2}).pod()["topologySpreadConstraints"]
    assert [one["topologyKey"] for one in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert {one["whenUnsatisfiable"] for one in spread} == {"ScheduleAnyway"}
    assert render(EVERYTHING).pod()["topologySpreadConstraints"] == EVERYTHING["topologySpreadConstraints"]


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_every_pod_has_its_policy_and_its_part_of_the_disk(values: dict[str, Any]) -> None:
    rendered = render(values)
    policies = [one["spec"]["podSelector"]["matchLabels"] for one in rendered.of_kind("NetworkPolicy")]
    for template in [one["spec"]["template"] for kind in ("Deployment", "Job") for one in rendered.of_kind(kind)]:
        labels = template["metadata"]["labels"].items()
        enabled = values.get("networkPolicy", {}).get("enabled", False)
        assert any(policy.items() <= labels for policy in policies) is enabled
        for container in template["spec"]["containers"]:
            for part in ("requests", "limits"):
                assert "ephemeral-storage" in container["resources"][part]
            assert "cpu" not in container["resources"]["limits"]


@pytest.mark.parametrize(("replicas", "strategy"), [(0, "Recreate"), (1, "Recreate"), (2, "RollingUpdate")])
def test_several_are_replaced_one_by_one_and_all_take_the_lease(replicas: int, strategy: str) -> None:
    rendered = render({"replicas": replicas})
    assert rendered.one("Deployment")["spec"]["strategy"]["type"] == strategy
    assert bool(rendered.of_kind("PodDisruptionBudget")) is (replicas > 1)
    assert rendered.environment()["LOGPERSISTER_OPERATOR_LEASE"] == "logpersister-system/logpersister-operator"
    assert "logpersister-operator-lease" in {one["metadata"]["name"] for one in rendered.of_kind("Role")}


def test_the_definition_goes_with_the_release_or_stays_away_when_told() -> None:
    gone = render({"crds": {"keep": False}}).one("CustomResourceDefinition", "logpersisters.logpersister.dev")
    assert "annotations" not in gone["metadata"]
    assert not render({"crds": {"install": False}}).of_kind("CustomResourceDefinition")


def test_images(default: Rendered) -> None:
    def images(values: dict[str, Any]) -> tuple[str, str]:
        rendered = render({"image": values})
        return rendered.pod()["containers"][0]["image"], rendered.environment()["LOGPERSISTER_OPERATOR_IMAGE"]

    registry = "registry.example.org:5000"
    assert images({}) == ("logpersister-operator:0.1.0", "logpersister:0.1.0")
    assert images({"registry": registry}) == (
        f"{registry}/logpersister-operator:0.1.0",
        f"{registry}/logpersister:0.1.0",
    )
    digest = "example.org/lp@sha256:" + "0" * 64
    assert images({"registry": registry, "member": digest}) == (f"{registry}/logpersister-operator:0.1.0", digest)
    assert images({"operator": digest}) == (digest, "logpersister:0.1.0")
    job = render({"image": {"operator": digest}}).one("Job", "logpersister-release")
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == digest
    for wrong in ("https://registry.example.org", "registry.example.org/", "a b"):
        with pytest.raises(HelmError, match=r"for example registry\.example\.org/data"):
            images({"registry": wrong})


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_what_selects_the_operator_finds_it_and_not_the_members(values: dict[str, Any]) -> None:
    rendered = render(values)
    deployment = rendered.one("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [deployment["spec"]["selector"]["matchLabels"]]
    selectors += [one["spec"]["selector"] for one in rendered.of_kind("Service")]
    selectors += [one["spec"]["selector"]["matchLabels"] for one in rendered.of_kind("PodDisruptionBudget")]
    policies = [one for one in rendered.of_kind("NetworkPolicy") if not is_hook(one)]
    selectors += [one["spec"]["podSelector"]["matchLabels"] for one in policies]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert selector["app.kubernetes.io/name"] != "logpersister", "that is the name of members"


def test_nothing_is_there_but_what_cannot_be_left_out() -> None:
    assert render(NOTHING).names() == ["Deployment logpersister-system/logpersister-operator"]
    assert render(NOTHING).pod()["serviceAccountName"] == "existing"
    with pytest.raises(HelmError, match="name an existing account"):
        render({"serviceAccount": {"create": False}})


def test_with_namespaces_nothing_is_cluster_wide_but_the_definition_the_roles_of_users_and_finalizers() -> None:
    users = {"logpersister-system-logpersister-view", "logpersister-system-logpersister-edit"}
    finalizers = {"logpersister-system-logpersister-operator-finalizers"}
    for rbac, expected in (({}, set[str]()), ({"namespaceDeletion": True}, finalizers)):
        rendered = render(NAMESPACES | {"rbac": rbac})
        kinds = {"ClusterRole", "ClusterRoleBinding"}
        assert {one["metadata"]["name"] for one in rendered.all if one["kind"] in kinds} == users | expected


def test_the_hook_calls_the_program_as_it_wants_to_be_called(
    default: Rendered, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments: list[str] = []
    for rendered, namespaces in ((default, ""), (render(NAMESPACES), "logs,audit")):
        job, deployment = rendered.one("Job", "logpersister-release"), rendered.one("Deployment")
        (container,) = job["spec"]["template"]["spec"]["containers"]
        arguments = container["args"]
        assert container["command"] == ["python", "-m", release.__module__]
        assert f"--namespaces={namespaces}" in arguments
        assert f"--deployment={deployment['metadata']['name']}" in arguments
        labels = deployment["spec"]["selector"]["matchLabels"]
        assert f"--selector={','.join(f'{name}={value}' for name, value in labels.items())}" in arguments
        own = job["spec"]["template"]["metadata"]["labels"]
        assert not labels.items() <= own.items(), "it would wait for itself"
    with pytest.raises(SystemExit):  # the parser takes them all: the help is the last word
        release([*arguments, "--help"])
    assert "--deployment" in capsys.readouterr().out


def test_the_network_policy_opens_only_ports_of_the_operator(everything: Rendered) -> None:
    spec = everything.one("NetworkPolicy")["spec"]
    ports = {port["port"] for rule in spec["ingress"] for port in rule["ports"]}
    assert ports == {port["name"] for port in everything.pod()["containers"][0]["ports"]}
    test = {"podSelector": everything.one("NetworkPolicy", "logpersister-test")["spec"]["podSelector"]}
    assert spec["ingress"][0]["from"] == [*EVERYTHING["networkPolicy"]["metricsFrom"], test]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["egress"][-1] == EVERYTHING["networkPolicy"]["egress"][0]
    only_ingress = render({"networkPolicy": {"enabled": True}}).one("NetworkPolicy")["spec"]
    assert only_ingress["policyTypes"] == ["Ingress"]
    assert "egress" not in only_ingress
