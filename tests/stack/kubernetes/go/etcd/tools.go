//go:build tools

// Package tools keeps the command that scripts/go_builds.py builds in go.mod.
//
// A module of our own, since etcd's has replace directives, which `go install` refuses.
package tools

import _ "go.etcd.io/etcd/server/v3"
