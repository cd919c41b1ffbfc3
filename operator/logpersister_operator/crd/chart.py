"""The CustomResourceDefinition as a template of the Helm chart."""

from typing import Final

from logpersister_operator.crd.text import text

_METADATA: Final = """\
  labels:
    {{- include "logpersister.labels" . | nindent 4 }}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""


def template() -> str:
    """Return ``templates/crd.yaml``: the definition behind ``crds.install``, kept when uninstalled by ``crds.keep``."""
    head, name, body = _escaped(text()).partition("  name: logpersisters.logpersister.dev\n")
    return f"{{{{- if .Values.crds.install }}}}\n{head}{name}{_METADATA}{body}{{{{- end }}}}\n"


def _escaped(body: str) -> str:
    """Return text that Helm prints as it is."""
    return body.replace("{{", '{{ "{{" }}')
