"""Service accounts, and what Spark's driver may do: make and watch the executors of its own namespace."""

from logpersister_operator.cluster.kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT, Document
from logpersister_operator.render.application import EXECUTOR, MEMBER, Application


def service_accounts(app: Application) -> list[Document]:
    """Return the account of members, and of executors when there are some; tokens are mounted where pods say so.

    An account that the spec names is somebody else's: there is nothing to make.
    """
    account = app.resource.spec.service_account
    if account.name is not None:
        return []
    components = [MEMBER, EXECUTOR] if app.has_executors else [MEMBER]
    body = {"automountServiceAccountToken": False}
    return [
        app.child(SERVICE_ACCOUNT, app.account_name(one), body, annotations=account.annotations) for one in components
    ]


def driver_role(app: Application) -> list[Document]:
    """Return Role and RoleBinding of the members; nothing when Spark runs inside of them.

    Each account has a binding of its own: while one revision takes over from another, drivers of both make executors.
    """
    if not app.has_executors:
        return []
    name, account = f"{app.name}-{MEMBER}", app.account_name(MEMBER)
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
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": app.namespace}],
    }
    own = name if account == name else f"{name}-{account}"
    return [app.child(ROLE, name, {"rules": rules}), app.child(ROLE_BINDING, own, binding)]
