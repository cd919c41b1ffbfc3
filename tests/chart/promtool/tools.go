//go:build tools

// Package tools keeps the command that scripts/go_builds.py builds in go.mod.
//
// A module of our own, since that of Prometheus excludes versions, which `go install` refuses. It pins what the command
// needs without discovery of scrape targets, whose clients of some twenty clouds would be most of it.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
