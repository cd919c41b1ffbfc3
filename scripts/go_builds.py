"""Programs that set-up builds from Go modules: each pinned, each a single static binary.

On Linux and x86-64 kubectl and Helm come out of a wheel in place of that (scripts/lambda_layer.py).

A module that ``go install`` takes is named with its version. It refuses those with replace or exclude directives, as
etcd and Kubernetes have: they are built in a module of our own, whose go.mod and go.sum pin everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_MODULES = _ROOT / "tests" / "stack" / "kubernetes" / "go"

KUBERNETES = "v1.34.4"
HELM = "v3.19.0"
KUBECONFORM = "v0.7.0"
SYFT = "v1.57.0"

_KUBERNETES_VERSION = " ".join(
    f"-X {package}.gitVersion={KUBERNETES} -X {package}.gitMajor=1 -X {package}.gitMinor=34"
    f" -X {package}.gitTreeState=clean -X {package}.buildDate=2026-01-01T00:00:00Z"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
)
_HELM_VERSION = " ".join(
    [f"-X helm.sh/helm/v3/internal/version.version={HELM}"]
    + [
        f"-X helm.sh/helm/v3/pkg/{package}.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/{package}.k8sVersionMinor=34"
        for package in ("lint/rules", "chartutil")
    ]
)

_MINIO = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"

_COMPILED_SOONER = "-gcflags=all=-l -dwarf=false"
"""Without inlining and debug information a compiler does half the work; tests ask little of what it makes."""

_COLLECTED_LESS = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""A compiler that looks for garbage only when it has used so much memory took 45 CPU s for etcd, 51 at GOGC=400."""


@dataclass(frozen=True)
class GoBuild:
    """One program."""

    name: str
    """Of its folder in ``.cache``, and of the program."""
    title: str
    package: str
    """What is built, with its version unless ``module`` pins it."""
    module: Path | None = None
    """Folder of our own go.mod."""
    variables: str = ""
    """``-X`` options of the linker: versions that the program tells."""
    group: str = "test"
    """The smallest group of parts that needs it."""
    after: tuple[str, ...] = ()
    """Builds to wait for: what they have compiled is not compiled again."""
    fast: bool = False
    """Whether it is compiled with all optimisations, since it does much work itself."""

    @property
    def files(self) -> list[Path]:
        """What pins the build beside `package`."""
        if self.module is None:
            return []
        ours = self.module.glob("*.go") if self.package == "." else ()
        return [self.module / "go.mod", self.module / "go.sum", *ours]

    @property
    def facts(self) -> list[str]:
        """What else the result depends on."""
        return [self.package, self.variables, *self._compiler]

    @property
    def _compiler(self) -> tuple[str, ...]:
        return () if self.fast else (_COMPILED_SOONER,)

    def command(self, folder: Path) -> list[str]:
        """Return the command that writes the program into ``folder``; it runs in `module`, with `environment`."""
        linker = f"-ldflags=-s -w {self.variables}".rstrip()
        flags = ["-v", "-trimpath", *self._compiler, linker]
        if self.module is None:
            return ["go", "install", *flags, self.package]
        return ["go", "build", "-mod=readonly", *flags, "-o", str(folder / self.name), self.package]

    def environment(self, folder: Path) -> dict[str, str]:
        """Return what is added to the environment."""
        return {"GOBIN": str(folder), "CGO_ENABLED": "0", **_COLLECTED_LESS}


GO_BUILDS = (
    GoBuild("minio", "MinIO, a Go build of one to three minutes", _MINIO),
    GoBuild(
        "minio-optimised",
        "MinIO as benches store through it, a Go build of two to four minutes",
        _MINIO,
        group="bench",
        fast=True,
    ),
    GoBuild(
        "kube-apiserver",
        "Kubernetes API server, a Go build of four to eight minutes",
        "k8s.io/kubernetes/cmd/kube-apiserver",
        _MODULES / "kubernetes",
        _KUBERNETES_VERSION,
    ),
    GoBuild(
        "kubectl",
        "kubectl, a Go build of half a minute",
        "k8s.io/kubernetes/cmd/kubectl",
        _MODULES / "kubernetes",
        _KUBERNETES_VERSION,
        after=("kube-apiserver",),
    ),
    GoBuild(
        "etcd",
        "etcd, a Go build of half a minute",
        "go.etcd.io/etcd/server/v3",
        _MODULES / "etcd",
    ),
    GoBuild(
        "helm",
        "Helm, a Go build of one to two minutes",
        f"helm.sh/helm/v3/cmd/helm@{HELM}",
        variables=_HELM_VERSION,
    ),
    GoBuild(
        "kubeconform",
        "kubeconform, a Go build of some seconds",
        f"github.com/yannh/kubeconform/cmd/kubeconform@{KUBECONFORM}",
        variables=f"-X main.version={KUBECONFORM}",
    ),
    GoBuild(
        "syft",
        "Syft, which lists what is in an image, a Go build of two to four minutes",
        f"github.com/anchore/syft/cmd/syft@{SYFT}",
        variables=f"-X main.version={SYFT}",
        group="release",
    ),
    *(
        GoBuild(
            name,
            f"{name}, a Go build of less than a minute beside the API server's",
            f"k8s.io/kubernetes/cmd/{name}",
            _MODULES / "kubernetes",
            _KUBERNETES_VERSION,
            group="cluster",
            after=("kube-apiserver",),
        )
        for name in ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
    ),
    GoBuild(
        "pause",
        "what holds pods open, a Go build of a moment",
        ".",
        _ROOT / "tests" / "cluster" / "node" / "pause",
        group="cluster",
    ),
)
