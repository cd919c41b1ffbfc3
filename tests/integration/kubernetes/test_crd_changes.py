"""What the API server lets become of a resource that is there: the same as the model."""

from typing import Any

import pytest

from logpersister.manifest import parse
from tests.integration.kubernetes.judge import COLLECTION
from tests.stack.kubernetes import Client, Refused
from tests.unit.manifest.documents import changed
from tests.unit.manifest.test_changes import CHANGES_ALLOWED, CHANGES_REFUSED

pytestmark = pytest.mark.usefixtures("crd")


def _replaced(api: Client, namespace: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    path = COLLECTION.format(namespace)
    stored = api.create(path, changed(before))
    document = changed(after)
    document["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
    api.replace(f"{path}/{document['metadata']['name']}", document)


@pytest.mark.parametrize(("before", "after"), CHANGES_ALLOWED, ids=str)
def test_allowed(api: Client, namespace: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    _replaced(api, namespace, before, after)


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES_REFUSED, ids=str)
def test_refused(api: Client, namespace: str, before: dict[str, Any], after: dict[str, Any], expected: str) -> None:
    with pytest.raises(Refused) as caught:
        _replaced(api, namespace, before, after)
    ours = parse(changed(after)).problems_of_change(parse(changed(before)))
    theirs = [(cause.field, cause.message) for cause in caught.value.causes]
    assert len(theirs) == len(ours) == 1
    assert theirs[0][0] == ours[0].path
    assert f"{ours[0].expectation}; {ours[0].remedy}" in theirs[0][1]
