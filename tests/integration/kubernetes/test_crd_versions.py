"""A second version of the definition beside the first, as v1beta1 will come (docs/design/crd.md)."""

import contextlib
import copy
from collections.abc import Iterator

import pytest

from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.operator_process import SPEC, Resource
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Document

NEXT = "v1beta1"
_DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/logpersisters.logpersister.dev"


@pytest.fixture
def both(api: Client, crd: Document) -> Iterator[None]:
    """Both versions, served; afterwards only the first one, as before."""
    definition = copy.deepcopy(crd)
    (first,) = definition["spec"]["versions"]
    definition["spec"]["versions"].append(copy.deepcopy(first) | {"name": NEXT, "storage": False})
    _replace(api, definition)
    yield
    _replace(api, crd)


def _replace(api: Client, definition: Document) -> None:
    live = api.get(_DEFINITION)
    spec = live["spec"] | {"versions": definition["spec"]["versions"]}
    api.replace(_DEFINITION, live | {"spec": spec})


@pytest.mark.usefixtures("both")
def test_a_resource_is_looked_after_whichever_version_it_is_written_in(resource: Resource, api: Client) -> None:
    path = resource.path.replace("v1alpha1", NEXT)
    metadata = {"name": resource.name, "namespace": resource.namespace}
    document = {"apiVersion": f"logpersister.dev/{NEXT}", "kind": "LogPersister", "metadata": metadata, "spec": SPEC}

    def written() -> bool:
        with contextlib.suppress(Refused):
            api.apply(path, document)
            return True
        return False

    eventually(f"{NEXT} is served", written)
    before = resource.wait_stateful_sets(1)
    resource.wait("SpecValid", "True", "Valid")
    assert api.get(path)["status"]["revision"] == resource.status()["revision"]
    generation = api.get(path)["metadata"]["generation"]
    resource.apply(SPEC)  # by somebody who still writes the first one
    assert api.get(path)["metadata"]["generation"] == generation, "it is the same resource"
    assert resource.stateful_sets().keys() == before.keys()
