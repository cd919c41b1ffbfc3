"""Alerts as Prometheus sees them: its promtool plays series, and tells which alerts fire."""

import re
from pathlib import Path

import pytest
import yaml

from tests.chart.checking import complaints
from tests.chart.helm import render
from tests.chart.monitoring import installed_dashboard, metric_names, targets, used

SCENES = Path(__file__).parent / "alerts.yaml"


@pytest.fixture(scope="module")
def alerts() -> str:
    """The rules as the chart installs them, with pages and numbers as they are by default."""
    rendered = render({"metrics": {"prometheusRule": {"enabled": True}}}, namespace="operators")
    return yaml.safe_dump(rendered.one("PrometheusRule", "logpersister")["spec"], width=10_000)


def test_alerts_tell_what_they_are_for_and_nothing_else(alerts: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(alerts)
    (tmp_path / SCENES.name).write_text(SCENES.read_text())
    assert complaints("promtool", "test", "rules", tmp_path / SCENES.name) == ""


def test_each_alert_is_played_where_it_tells_and_where_not(alerts: str) -> None:
    names = {rule["alert"] for group in yaml.safe_load(alerts)["groups"] for rule in group["rules"] if "alert" in rule}
    scenes = yaml.safe_load(SCENES.read_text())["tests"]
    played = [look for scene in scenes for look in scene["alert_rule_test"]]
    assert {look["alertname"] for look in played if look["exp_alerts"]} == names
    assert {look["alertname"] for look in played if not look["exp_alerts"]} == names
    series = [one["series"] for scene in scenes for one in scene["input_series"]]
    assert used(" ".join(series)) <= metric_names()


def test_expressions_of_the_dashboard_are_promql(tmp_path: Path) -> None:
    found = [_with_values(target["expr"]) for target in targets(installed_dashboard())]
    assert len(found) > 20
    records = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(found)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))
    assert complaints("promtool", "check", "rules", "--lint-fatal", file) == ""


def _with_values(expression: str) -> str:
    """Replace Grafana's variables, as it does before it asks Prometheus."""
    return re.sub(r"\$\w+", ".*", expression.replace("$__rate_interval", "1m"))
