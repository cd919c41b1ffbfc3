"""Sets of values that together switch everything on and off."""

from typing import Any, Final

NAMESPACES: Final[dict[str, Any]] = {"namespaces": ["logs", "audit"]}

NO_IDS: Final[dict[str, Any]] = {"runAsUser": None, "runAsGroup": None, "fsGroup": None}
CHOSEN_IDS: Final[dict[str, Any]] = {"podSecurityContext": NO_IDS, "memberDefaults": {"podSecurityContext": NO_IDS}}
"""Where the cluster chooses users and groups."""

MONITORED: Final[dict[str, Any]] = {
    "metrics": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "runbooks": "https://git.example.org/logpersister/blob/main"},
        "dashboard": {"enabled": True},
    }
}

EVERYTHING: Final[dict[str, Any]] = {
    **MONITORED,
    "image": {"registry": "registry.example.org/data", "pullSecrets": [{"name": "registry-login"}]},
    "memberDefaults": {
        "labels": {"team": "data"},
        "imagePullSecrets": [{"name": "registry-login"}],
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "topologySpread": False,
        "resources": {"requests": {"cpu": "2"}},
        "proxy": {"https": "http://proxy.example.org:3128"},
        "extraCa": {"configMap": "corporate-ca"},
    },
    "replicas": 2,
    "canaryNamespaces": ["staging", "*-dev"],
    "canaryNamespaceSelector": "environment=staging",
    "namespaceSelector": "logpersister in (enabled)",
    "executors": {"enabled": False},
    "settings": {
        "lagSeconds": 10.5,
        "logLevel": "debug",
        "maxConcurrentRollouts": 3,
        "resourceSelector": "shard in (a, b)",
    },
    "crds": {"keep": False},
    "serviceAccount": {"annotations": {"example.org/role": "logpersister"}},
    "resources": {"requests": {"cpu": "1"}},
    "extraEnv": [{"name": "KUBERNETES_REQUEST_ID", "value": "text"}],
    "extraVolumes": [{"name": "login", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "login", "mountPath": "/login", "readOnly": True}],
    "commonLabels": {"cost-centre": "data"},
    "rbac": {"namespaceDeletion": True},
    "podLabels": {"team": "data"},
    "podAnnotations": {"example.org/note": "text"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    ],
    "priorityClassName": "system-cluster-critical",
    "networkPolicy": {
        "enabled": True,
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "egress": [{"ports": [{"port": 443, "protocol": "TCP"}]}],
    },
}

EVERYTHING_IN_NAMESPACES: Final[dict[str, Any]] = (
    EVERYTHING | NAMESPACES | {"namespaceSelector": "", "canaryNamespaceSelector": ""}
)

NOTHING: Final[dict[str, Any]] = {
    "crds": {"install": False},
    "serviceAccount": {"create": False, "name": "existing"},
    "rbac": {"create": False, "userRoles": False},
    "podDisruptionBudget": {"enabled": False},
    "metrics": {"service": {"enabled": False}},
    "release": {"enabled": False},
    "replicas": 0,
}

COMBINATIONS: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "namespaces": NAMESPACES,
    "monitored": MONITORED,
    "everything": EVERYTHING,
    "everything-in-namespaces": EVERYTHING_IN_NAMESPACES,
    "nothing": NOTHING,
}
