// Checks rules and plays scenes of alerts, as `promtool check rules` and `promtool test rules` do.
//
// What parses and evaluates is Prometheus' own packages; promtool's command around them also needs the clients of all
// that Prometheus can write to, read from and discover, which takes as long again to build. Of the scenes' file it knows
// what ours uses: alert_rule_test.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"go.yaml.in/yaml/v2"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

type scenes struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []scene        `yaml:"tests"`
}

type scene struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Input    []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Looks []look `yaml:"alert_rule_test"`
}

type look struct {
	At       model.Duration `yaml:"eval_time"`
	Alert    string         `yaml:"alertname"`
	Expected []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

var promql = parser.NewParser(parser.Options{})

func main() {
	commands := map[string]func(string) error{"check": check, "test": test}
	if len(os.Args) == 4 && commands[os.Args[1]] != nil && os.Args[2] == "rules" {
		if err := commands[os.Args[1]](os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "usage: promtool check|test rules FILE")
	os.Exit(2)
}

// check finds rules that Prometheus would refuse, and those that are there twice.
func check(file string) error {
	parsed, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, promql, promslog.NewNopLogger())
	if errs != nil {
		return joined(errs)
	}
	seen := map[string]bool{}
	for _, group := range parsed.Groups {
		for _, rule := range group.Rules {
			name := rule.Record + rule.Alert + labels.FromMap(rule.Labels).String()
			if seen[name] {
				errs = append(errs, fmt.Errorf("duplicate rule %s", name))
			}
			seen[name] = true
		}
	}
	return joined(errs)
}

// test plays every scene of a file.
func test(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all scenes
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return err
	}
	if all.EvaluationInterval <= 0 || len(all.Tests) == 0 {
		return fmt.Errorf("%s: evaluation_interval or tests are missing", file)
	}
	for i, name := range all.RuleFiles {
		all.RuleFiles[i] = filepath.Join(filepath.Dir(file), name)
	}
	var errs []error
	for _, one := range all.Tests {
		for _, err := range one.play(time.Duration(all.EvaluationInterval), all.RuleFiles) {
			errs = append(errs, fmt.Errorf("%s: %w", one.Name, err))
		}
	}
	return joined(errs)
}

// play evaluates the rules step by step and compares the alerts that fire with those that are expected.
func (s scene) play(step time.Duration, files []string) (errs []error) {
	options := promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promql}
	suite, err := promqltest.NewLazyLoader(s.load(), options)
	if err != nil {
		return []error{err}
	}
	defer suite.Close()
	suite.SubqueryInterval = step

	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		AppendableV2: suite.Storage(),
		Context:      context.Background(),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       promslog.NewNopLogger(),
		Parser:       promql,
	})
	groups, errs := manager.LoadGroups(time.Duration(s.Interval), labels.EmptyLabels(), "", nil, false, files...)
	if errs != nil {
		return errs
	}
	alerts := map[string][]*rules.AlertingRule{}
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if alert, is := rule.(*rules.AlertingRule); is {
				alert.SetRestored(true) // or its own series, ALERTS, would not be there
				alerts[alert.Name()] = append(alerts[alert.Name()], alert)
			}
		}
	}

	end := slices.MaxFunc(s.Looks, func(a, b look) int { return int(a.At - b.At) }).At
	for at := time.Duration(0); at <= time.Duration(end); at += step {
		now := time.Unix(0, 0).UTC().Add(at)
		suite.WithSamplesTill(now, func(err error) {
			if err != nil {
				errs = append(errs, err)
				return
			}
			for _, group := range groups {
				group.Eval(suite.Context(), now)
				for _, rule := range group.Rules() {
					if rule.LastError() != nil {
						errs = append(errs, fmt.Errorf("%s at %s: %w", rule.Name(), at, rule.LastError()))
					}
				}
			}
		})
		if errs != nil {
			return errs
		}
		for _, look := range s.Looks {
			if at <= time.Duration(look.At) && time.Duration(look.At) < at+step {
				if firing, expected := firing(alerts[look.Alert]), look.expected(); firing != expected {
					errs = append(errs, fmt.Errorf("%s at %s\nexpected:\n%sfires:\n%s", look.Alert, look.At, expected, firing))
				}
			}
		}
	}
	return errs
}

func (s scene) load() string {
	var text strings.Builder
	fmt.Fprintf(&text, "load %ds\n", int(time.Duration(s.Interval).Seconds()))
	for _, series := range s.Input {
		fmt.Fprintf(&text, "  %s %s\n", series.Series, series.Values)
	}
	return text.String()
}

func firing(alerts []*rules.AlertingRule) string {
	var found []string
	for _, alert := range alerts {
		for _, one := range alert.ActiveAlerts() {
			if one.State == rules.StateFiring {
				found = append(found, line(one.Labels, one.Annotations))
			}
		}
	}
	return sorted(found)
}

func (l look) expected() string {
	var found []string
	for _, one := range l.Expected {
		all := map[string]string{labels.AlertName: l.Alert}
		for name, value := range one.Labels {
			all[name] = value
		}
		found = append(found, line(labels.FromMap(all), labels.FromMap(one.Annotations)))
	}
	return sorted(found)
}

func line(name, annotations labels.Labels) string {
	return fmt.Sprintf("  %s %s\n", name, annotations)
}

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
