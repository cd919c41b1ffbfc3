"""The CustomResourceDefinition as YAML."""

from typing import Any

import yaml

from logpersister_operator.crd.document import definition

_HEAD = """\
# Made by `make crds` from the manifest's model (spark-app/logpersister/manifest) and the status's
# (operator/logpersister_operator/crd/status.py). Change it there.
"""


class _Dumper(yaml.SafeDumper):
    """No aliases: what is said twice is written twice, as every reader expects of a manifest."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def text() -> str:
    """Return the file ``crds/logpersisters.yaml``."""
    body = yaml.dump(definition(), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return f"{_HEAD}{body}"
