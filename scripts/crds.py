"""``python scripts/crds.py FOLDER TEMPLATE`` writes the CRDs, for the chart as well (``make crds``)."""

import sys
from pathlib import Path
from typing import Any, Final

import yaml
from definitions.document import Definition
from definitions.kinds import DEFINITIONS

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


def text(definition: Definition) -> str:
    """Return a file such as ``crds/logpersisters.yaml``."""
    body = yaml.dump(definition.document(), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return f"{_HEAD}{body}"


def template() -> str:
    """Return ``templates/crd.yaml``: all definitions, behind ``crds.install``, and kept by ``crds.keep``."""
    documents = "---\n".join(map(_templated, DEFINITIONS))
    return f"{{{{- if .Values.crds.install }}}}\n{documents}{{{{- end }}}}\n"


def _templated(definition: Definition) -> str:
    head, name, body = _escaped(text(definition)).partition(f"  name: {definition.name}\n")
    return f"{head}{name}{_METADATA}{body}"


def _escaped(body: str) -> str:
    """Return text that Helm prints as it is."""
    return body.replace("{{", '{{ "{{" }}')


def main(folder: Path, chart_template: Path) -> None:
    files = {folder / f"{one.kind.plural}.yaml": text(one) for one in DEFINITIONS}
    for path, content in (files | {chart_template: template()}).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
