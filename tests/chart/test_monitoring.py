"""Alerts and the dashboard speak of metrics that exist, and point to pages that exist."""

import re

import pytest

from logpersister_operator.decide.conditions import Aspect
from tests.chart.combinations import MONITORED
from tests.chart.helm import Document, render
from tests.chart.monitoring import MONITORING, installed_dashboard, metric_names, targets, used
from tests.pages import DOCS, anchors


@pytest.fixture(scope="module")
def rules() -> list[Document]:
    groups = render(MONITORED).one("PrometheusRule", "logpersister")["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


@pytest.fixture(scope="module")
def dashboard() -> Document:
    return installed_dashboard()


def test_alerts_are_about_metrics_that_exist(rules: list[Document]) -> None:
    for rule in rules:
        assert used(rule["expr"]), rule
        assert used(rule["expr"]) <= metric_names(), rule


def test_conditions_in_expressions_exist(rules: list[Document], dashboard: Document) -> None:
    texts = [rule["expr"] for rule in rules] + [target["expr"] for target in targets(dashboard)]
    named = {name for text in texts for name in re.findall(r'condition="(\w+)"', text)}
    assert named
    assert named <= set(Aspect)


def test_every_alert_has_a_runbook_that_exists(rules: list[Document]) -> None:
    prefix = MONITORED["metrics"]["prometheusRule"]["runbooks"] + "/docs/"
    for rule in rules:
        assert rule["labels"]["severity"] in ("warning", "critical")
        page, _, anchor = rule["annotations"]["runbook_url"].removeprefix(prefix).partition("#")
        assert anchor in anchors((DOCS / page).read_text()), rule["annotations"]["runbook_url"]


def test_alerts_are_those_of_the_page(rules: list[Document]) -> None:
    on_the_page = re.findall(r"^\| `(LogPersister\w+)` \| (\w+) \|", MONITORING, re.MULTILINE)
    assert on_the_page == [(rule["alert"], rule["labels"]["severity"]) for rule in rules]


def test_the_dashboard_is_about_metrics_that_exist(dashboard: Document) -> None:
    found = list(targets(dashboard))
    assert len(found) > 20
    for target in found:
        assert used(target["expr"]) <= metric_names(), target
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            assert used(variable["query"]["query"]) <= metric_names()
