"""Service accounts, and what Spark's driver may do: make and watch the executors of its own namespace."""

from logpersister_operator.cluster.kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT, Document
from logpersister_operator.render.application import EXECUTOR, MEMBER, Application


def service_accounts(app: Application) -> list[Document]:
    """Return the account of members, and of executors when there are some; tokens are mounted where pods say so."""
    components = [MEMBER, EXECUTOR] if app.has_executors else [MEMBER]
    return [
        app.child(SERVICE_ACCOUNT, app.account_name(one), {"automountServiceAccountToken": False}) for one in components
    ]


def driver_role(app: Application) -> list[Document]:
    """Return Role and RoleBinding of the members; nothing when Spark runs inside of them."""
    if not app.has_executors:
        return []
    name = app.account_name(MEMBER)
    rules = [
        {
            "apiGroups": [""],
            "resources": ["pods"],
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "watch"],
        },
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "verbs": ["create", "delete", "deletecollection", "get", "list"],
        },
    ]
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": app.namespace}],
    }
    return [app.child(ROLE, name, {"rules": rules}), app.child(ROLE_BINDING, name, binding)]
