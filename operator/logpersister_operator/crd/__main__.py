"""``python -m logpersister_operator.crd FILE TEMPLATE`` writes the CRD and the chart's copy; ``make crds`` calls it."""

import sys
from pathlib import Path
from typing import Any, Final

import yaml

from logpersister_operator.crd.document import definition

_HEAD: Final = """\
# Made by `make crds` from the manifest's model (spark-app/logpersister/manifest) and the status's
# (operator/logpersister_operator/crd/status.py). Change it there.
"""
_METADATA: Final = """\
  labels:
    {{- include "logpersister.labels" . | nindent 4 }}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""


class _Dumper(yaml.SafeDumper):
    """No aliases: what is said twice is written twice, as every reader expects of a manifest."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def text() -> str:
    """Return the file ``crds/logpersisters.yaml``."""
    body = yaml.dump(definition(), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return f"{_HEAD}{body}"


def template() -> str:
    """Return ``templates/crd.yaml``: the definition behind ``crds.install``, kept when uninstalled by ``crds.keep``."""
    head, name, body = _escaped(text()).partition("  name: logpersisters.logpersister.dev\n")
    return f"{{{{- if .Values.crds.install }}}}\n{head}{name}{_METADATA}{body}{{{{- end }}}}\n"


def _escaped(body: str) -> str:
    """Return text that Helm prints as it is."""
    return body.replace("{{", '{{ "{{" }}')


def main(file: Path, chart_template: Path) -> None:
    for path, content in ((file, text()), (chart_template, template())):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
