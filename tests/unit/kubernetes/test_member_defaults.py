"""What an administrator gives to pods: below what a resource says, and rolled out as a new image is."""

import json
from typing import Any

import pytest

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.member_defaults import NO_DEFAULTS, DefaultsError, MemberDefaults, parse_defaults
from logpersister_operator.settings import Settings, SettingsError
from tests.unit.kubernetes.samples import Life, resource

DEFAULTS = parse_defaults(
    json.dumps(
        {
            "labels": {"team": "platform", "app.kubernetes.io/name": "theirs"},
            "annotations": {"scrape": "false"},
            "imagePullSecrets": [{"name": "registry-login"}],
            "nodeSelector": {"pool": "data"},
            "tolerations": [{"key": "data", "operator": "Exists"}],
            "priorityClassName": "important",
            "resources": {"requests": {"cpu": "2"}},
            "executorResources": {"requests": {"cpu": "3"}},
            "proxy": {"https": "http://proxy:3128", "exceptions": ".svc,.cluster.local"},
            "extraCa": {"configMap": "corporate"},
        }
    )
)


def templates(defaults: MemberDefaults, **spec: Any) -> tuple[Document, Document]:
    """Return the template of members and the pod of executors."""
    apply = Life(resource(spark={"executors": 1}, **spec)).step(defaults=defaults).apply
    members = next(one for one in apply if one["kind"] == "StatefulSet")["spec"]["template"]
    data = next(one for one in apply if one["kind"] == "ConfigMap")["data"]
    return members, json.loads(data["executor.json"])


def environment(template: Document) -> dict[str, str]:
    return {one["name"]: one["value"] for one in template["spec"]["containers"][0]["env"] if "value" in one}


def test_members_and_executors_get_them() -> None:
    for template, cpu in zip(templates(DEFAULTS), ("2", "3"), strict=True):
        pod, (container,) = template["spec"], template["spec"]["containers"]
        assert template["metadata"]["labels"]["team"] == "platform"
        assert template["metadata"]["labels"]["app.kubernetes.io/name"] == "logpersister", "ours stay"
        assert template["metadata"]["annotations"]["scrape"] == "false"
        assert pod["imagePullSecrets"] == [{"name": "registry-login"}]
        assert pod["nodeSelector"] == {"pool": "data"}
        assert pod["tolerations"] == [{"key": "data", "operator": "Exists"}]
        assert pod["priorityClassName"] == "important"
        assert container["resources"]["requests"] == {"cpu": cpu, "memory": "1280Mi", "ephemeral-storage": "256Mi"}
        assert environment(template) == environment(template) | {
            "HTTPS_PROXY": "http://proxy:3128",
            "https_proxy": "http://proxy:3128",
            "NO_PROXY": "$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local",
            "no_proxy": "$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local",
            "SSL_CERT_FILE": "/etc/logpersister-ca/ca-certificates.crt",
            "AWS_CA_BUNDLE": "/etc/logpersister-ca/ca-certificates.crt",
        }
        assert "HTTP_PROXY" not in environment(template)
        assert {"name": "extra-ca", "configMap": {"name": "corporate"}} in pod["volumes"]
        assert "/etc/logpersister-ca" in [mount["mountPath"] for mount in container["volumeMounts"]]


def test_a_resource_overrides_them() -> None:
    container = {
        "name": "member",
        "resources": {"requests": {"cpu": "5"}},
        "env": [{"name": "https_proxy", "value": "http://own"}],
    }
    own = {
        "metadata": {"labels": {"team": "clicks"}},
        "spec": {
            "tolerations": [],
            "priorityClassName": None,
            "nodeSelector": {"disk": "ssd"},
            "containers": [container],
        },
    }
    template, _ = templates(DEFAULTS, podTemplate=own)
    assert template["metadata"]["labels"]["team"] == "clicks"
    assert template["metadata"]["annotations"]["scrape"] == "false"
    assert template["spec"]["tolerations"] == []
    assert "priorityClassName" not in template["spec"]
    assert template["spec"]["nodeSelector"] == {"pool": "data", "disk": "ssd"}
    assert template["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "5"
    assert environment(template)["https_proxy"] == "http://own"
    assert environment(template)["HTTPS_PROXY"] == "http://proxy:3128"


def test_members_are_spread_unless_that_is_turned_off() -> None:
    spread, _ = templates(NO_DEFAULTS)
    assert [one["topologyKey"] for one in spread["spec"]["topologySpreadConstraints"]] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    assert "topologySpreadConstraints" not in templates(MemberDefaults(topology_spread=False))[0]["spec"]


def test_none_are_no_part_of_a_revision() -> None:
    """Spelt out in full, as the chart does, or not at all."""
    spelt = parse_defaults(NO_DEFAULTS.model_dump_json(by_alias=True))
    assert spelt.text == ""
    assert templates(spelt) == templates(NO_DEFAULTS)
    assert templates(spelt)[0]["metadata"]["labels"] != templates(DEFAULTS)[0]["metadata"]["labels"]


def test_a_revision_of_other_defaults_is_made_again_from_its_config_map() -> None:
    life = Life(resource(members=3))
    life.step(defaults=DEFAULTS)
    life.get_ready()
    life.step(defaults=DEFAULTS)
    (old,) = life.revisions()
    life.step()
    deleted = [one for one in life.children if one.kind == "StatefulSet" and one.name.endswith(old)]
    templates_before = [life.children.pop(one)["spec"]["template"] for one in deleted]
    plan = life.step()
    again = [one for one in plan.apply if one["metadata"]["name"].endswith(old) and one["kind"] == "StatefulSet"]
    assert [one["spec"]["template"] for one in again] == templates_before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"toleration": []}',
            "toleration: Extra inputs are not permitted; see `memberDefaults` in the chart's values",
        ),
        ('{"proxy": {"https": 1}}', "proxy.https: Input should be a valid string"),
        ("{", "the text: Invalid JSON"),
    ],
)
def test_nonsense_is_refused(text: str, words: str) -> None:
    with pytest.raises(DefaultsError) as caught:
        parse_defaults(text)
    assert words in str(caught.value)
    variables = {"IMAGE": "x", "LEASE": "a/b", "MEMBER_DEFAULTS": text}
    with pytest.raises(SettingsError, match="LOGPERSISTER_OPERATOR_MEMBER_DEFAULTS: "):
        Settings.from_environment({f"LOGPERSISTER_OPERATOR_{name}": value for name, value in variables.items()})
