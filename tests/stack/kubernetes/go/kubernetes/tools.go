//go:build tools

// Package tools keeps the commands that scripts/go_builds.py builds in go.mod.
//
// A module of our own, since that of Kubernetes replaces its staging modules with folders that only its repository has:
// go.mod replaces them with their published versions.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
