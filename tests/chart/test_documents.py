"""What the documents about installing and operating name is there: values, reasons, commands, log events."""

import re
from typing import Any

import yaml

from logpersister.manifest import parse
from logpersister_operator.decide.reasons import Reason
from tests.chart.helm import CHART, helm, render
from tests.pages import DOCS, ROOT

PAGES = [DOCS / f"{name}.md" for name in ("install", "security", "troubleshooting", "argocd", "status")]
TEXTS = {page: page.read_text() for page in PAGES}
INSTALL, _, TROUBLESHOOTING, _, STATUS = TEXTS.values()


def test_values_that_are_named_exist() -> None:
    values: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    sections = "|".join(name for name, value in values.items() if isinstance(value, dict) and name != "resources")
    for page, text in TEXTS.items():
        for path in re.findall(rf"`((?:{sections})\.(?!authorization|left_behind|ended)[\w.]+)(?:=\w+)?`", text):
            found: Any = values
            for name in path.split("."):
                assert name in found, f"{page.name}: {path}"
                found = found[name]


def test_options_of_helm_in_the_commands_are_taken() -> None:
    options = [quoted or plain for quoted, plain in re.findall(r"--set (?:'([^']+)'|([\w.]+=[\w.$]+))", INSTALL)]
    assert {option.partition("=")[0] for option in options} == {
        "image.registry", "namespaces", "replicas", "metrics.serviceMonitor.enabled", "metrics.prometheusRule.enabled",
        "metrics.dashboard.enabled", "settings.resourceSelector", "crds.install", "namespaceSelector",
    }  # fmt: skip
    for option in options:
        helm("template", "logpersister", str(CHART), "--set", option.replace("$REGISTRY", "registry.example.org"))


def test_reasons_that_are_named_exist() -> None:
    section = TROUBLESHOOTING.partition("## A resource is not ready\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `(\w+)`", section, re.MULTILINE)
    assert len(named) > 5
    assert set(named) <= set(Reason)
    needs_somebody = {
        Reason.SPEC_INVALID, Reason.SECRET_MISSING, Reason.REFUSED, Reason.IMAGE_UNAVAILABLE, Reason.MEMBER_CRASHING,
        Reason.POD_NOT_STARTABLE, Reason.UNSCHEDULABLE,
    }  # fmt: skip
    of_status = re.findall(r"^\| `(\w+)`", STATUS, re.MULTILINE)
    assert needs_somebody <= {*named, *of_status}, "each has a row that says what to do"


def test_log_events_that_are_named_are_written() -> None:
    source = "".join(file.read_text() for file in (ROOT / "operator").rglob("*.py"))
    named = re.findall(r"(?:log: |no |grep )`?((?:definition|leader|operator|round)\.\w+)", TROUBLESHOOTING)
    assert len(named) >= 5
    for event in named:
        assert f'"{event}"' in source, event


def test_the_first_resource_is_valid() -> None:
    (text,) = re.findall(r"<<'END'\n(.*?)\nEND\n", INSTALL, re.DOTALL)
    assert parse(yaml.safe_load(text)).name == "clicks-backup"


def test_the_images_have_the_names_that_the_chart_expects() -> None:
    built = dict(re.findall(r"docker build --target (\S+) +--tag \$REGISTRY/(\S+) \.", INSTALL))
    rendered = render({"image": {"registry": "r"}})
    assert f"r/{built['operator']}" == rendered.pod()["containers"][0]["image"]
    assert f"r/{built['spark-app']}" == rendered.environment()["LOGPERSISTER_OPERATOR_IMAGE"]
    dockerfile = (ROOT / "Dockerfile").read_text()
    for target in built:
        assert re.search(rf"^FROM \S+ AS {target}$", dockerfile, re.MULTILINE), target


def test_the_user_of_the_image_is_that_of_the_pods() -> None:
    user = render().pod()["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}\n" in (ROOT / "Dockerfile").read_text()
