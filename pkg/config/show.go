package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"sidestep/pkg/steer"
)

// Show is the effective config as YAML, every default written out, every secret
// masked, and the query of every URL, which may hold one. Load takes it again
// and makes an equal Config, apart from these, positions and warnings.
func (c *Config) Show() []byte {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(c.shown().node()); err != nil {
		return []byte("# cannot show the config: " + err.Error() + "\n")
	}
	return out.Bytes()
}

// shown is a mapping whose keys stand in the order in which people read them.
// A nil value leaves the key out.
type shown []pair

type pair struct {
	key   string
	value any
}

// with adds a key at the end.
func (s shown) with(key string, value any) shown { return append(s, pair{key, value}) }

func (s shown) node() *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, entry := range s {
		if value := valueNode(entry.value); value != nil {
			node.Content = append(node.Content, textNode(entry.key), value)
		}
	}
	return node
}

// valueNode writes what a shown mapping holds.
func valueNode(value any) *yaml.Node {
	switch v := value.(type) {
	case nil:
		return nil
	case shown:
		return v.node()
	case []shown:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, one := range v {
			node.Content = append(node.Content, one.node())
		}
		return node
	case []string:
		node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, one := range v {
			node.Content = append(node.Content, textNode(one))
		}
		return node
	case string:
		return textNode(v)
	case time.Duration:
		return textNode(short(v))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)} // numbers, bools, provider.Secret
}

func textNode(s string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(s)
	return node
}

// some leaves a key out whose value is the zero of its type.
func some[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

func (c *Config) shown() shown {
	var maxWrites any = 0
	if w := c.Guard.MaxWrites; w.Count > 0 {
		maxWrites = shown{{"count", w.Count}, {"window", w.Window}}
	}
	var mass any = 0
	if m := c.Guard.Mass; m.AtLeast > 0 {
		mass = shown{{"percent", fmt.Sprintf("%d%%", m.Percent)}, {"at_least", m.AtLeast}, {"within", m.Within}, {"confirm", m.Confirm}}
	}
	zones, records := []shown{}, []shown{}
	for _, z := range c.Zones {
		zones = append(zones, showZone(z))
	}
	for _, spec := range c.Records {
		records = append(records, showRecord(spec).with("vantages", showVantages(c.Vantages.Records[spec.Key])))
	}
	checks := shown{}
	for _, name := range slices.Sorted(maps.Keys(c.Checks)) {
		checks = checks.with(name, showCheck(c.Checks[name], c.TLSFiles[name]).with("vantages", showVantages(c.Vantages.Checks[name])))
	}
	return shown{
		{"node", shown{{"name", c.Node.Name}, {"vantage", c.Node.Vantage}}},
		{"state", shown{{"dir", c.State.Dir}, {"max_age", c.State.MaxAge}}},
		{"control", showControl(c.Control)},
		{"leader", showLeader(c.Leader)},
		{"etcd", showEtcd(c.Etcd)},
		{"reconcile", shown{
			{"debounce", c.Reconcile.Debounce},
			{"every", c.Reconcile.Every},
			{"retry", shown{{"base", c.Reconcile.RetryBase}, {"max", c.Reconcile.RetryMax}}},
		}},
		{"canary", showCanary(c.Canary)},
		{"guard", shown{{"mass", mass}, {"max_changes", c.Guard.MaxChanges}, {"max_writes", maxWrites}}},
		{"adopt", string(c.Adopt)},
		{"zones", zones},
		{"checks", checks},
		{"sites", showSites(c.Sites, c.Vantages)},
		{"scenarios", showScenarios(c.Scenarios)},
		{"records", records},
		{"notify", showNotify(c.Notify)},
		{"ping", showPing(c.Ping)},
	}
}

func showCanary(c Canary) any {
	if len(c.Targets) == 0 {
		return nil
	}
	targets := []shown{}
	for _, target := range c.Targets {
		targets = append(targets, shown{{string(target.Spec.Kind), target.Spec.Name}})
	}
	return shown{{"targets", targets}, {"need", c.Need}}
}

func showZone(z Zone) shown {
	s := shown{{"zone", string(z.Name)}, {"provider", z.Provider}}
	options := z.Settings.Options
	switch z.Provider {
	case "rfc2136":
		s = s.with("server", options["server"]).with("transfer_from", options["transfer_from"])
		if name := options["tsig.name"]; name != "" {
			s = s.with("tsig", shown{
				{"name", name},
				{"algorithm", options["tsig.algorithm"]},
				{"secret", z.Settings.Secrets["tsig.secret"].String()},
			})
		}
	case "local":
		s = s.with("file", options["file"]).with("listen", options["listen"])
	case "tencentcloud":
		s = append(s.with("edition", options["edition"]), shown{{"endpoint", some(options["endpoint"])}}...)
		for _, name := range slices.Sorted(maps.Keys(z.Settings.Secrets)) {
			s = s.with(name, z.Settings.Secrets[name].String())
		}
	default:
		for _, key := range slices.Sorted(maps.Keys(options)) {
			s = s.with(key, options[key])
		}
		for _, key := range slices.Sorted(maps.Keys(z.Settings.Secrets)) {
			s = s.with(key, z.Settings.Secrets[key].String())
		}
	}
	return append(s, shown{
		{"insecure", z.Settings.Insecure},
		{"late", some(z.Settings.Late)},
		{"lag", some(z.Settings.Lag)},
		{"verify", shown{{"servers", someList(z.Verify.Servers)}, {"dns", z.Verify.DNS}}},
	}...)
}

func someList(values []string) any {
	if len(values) == 0 {
		return nil
	}
	return values
}

func showRecord(spec *steer.Spec) shown {
	s := shown{
		{"name", string(spec.Key.Name)},
		{"zone", string(spec.Key.Zone)},
		{"type", string(spec.Key.Type)},
		{"variant", some(spec.Key.Variant)},
		{"ttl", some(spec.TTL)},
	}
	adopt := AdoptAuto
	if spec.AskFirst {
		adopt = AdoptAsk
	}
	answers := []shown{}
	for _, a := range spec.Answers {
		answer := shown{{"value", a.Value}}
		if a.Probe != a.Value {
			answer = answer.with("probe", a.Probe)
		}
		answer = append(answer, shown{{"site", some(a.Site)}, {"when", some(a.When)}, {"mode", some(string(a.Mode))}}...)
		if spec.Policy == steer.Weighted {
			answer = answer.with("weight", a.Weight)
		}
		answers = append(answers, answer)
	}
	s = append(s, shown{
		{"policy", string(spec.Policy)},
		{"check", someList(spec.Checks)},
		{"answers", answers},
		{"max_live", some(spec.MaxLive)},
		{"min_live", spec.MinLive},
		{"on_all_down", string(spec.OnAllDown)},
		{"fallback", someList(spec.Fallback)},
		{"dr", showDR(spec.DR)},
	}...)
	if spec.Policy == steer.Priority {
		mode := "auto"
		if spec.Failback.Manual {
			mode = "manual"
		}
		s = s.with("failback", shown{{"mode", mode}, {"hold", spec.Failback.Hold}})
	}
	return s.with("adopt", string(adopt))
}

// showLeader leaves out times that depend on the zone.
func showLeader(l Leader) shown {
	out := shown{{"lock", string(l.Lock)}, {"i_am_alone", l.IAmAlone}}
	for _, t := range []struct {
		name string
		time time.Duration
	}{{"heartbeat", l.Heartbeat}, {"takeover", l.Takeover}, {"poll", l.Poll}} {
		if t.time > 0 {
			out = out.with(t.name, t.time)
		}
	}
	return showLease(out, l)
}
