package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/check"
)

const icmpText = `
zones: [{zone: example.com, provider: local, file: /var/lib/z, listen: ""}]
checks:
  plain: {icmp: {}}
  strict: {icmp: {count: 10, max_loss: 0}}
  lax: {icmp: {max_loss: 100%}, source: 192.0.2.7}
records:
  - {name: www.example.com, check: [plain, strict, lax], answers: [203.0.113.10]}
`

func TestICMP(t *testing.T) {
	c := mustParse(t, "icmp.yaml", icmpText, world())
	want := map[string]*check.ICMP{"plain": {Count: 3, MaxLoss: 34}, "strict": {Count: 10}, "lax": {Count: 3, MaxLoss: 100}}
	got := map[string]*check.ICMP{}
	for name, spec := range c.Checks {
		got[name] = spec.ICMP
		if spec.Kind != check.KindICMP || spec.Timeout != 5*time.Second {
			t.Errorf("check %s: got %+v", name, spec)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	again := mustParse(t, "shown.yaml", string(c.Show()), world())
	if diff := cmp.Diff(c.Checks, again.Checks, parts); diff != "" {
		t.Errorf("what is shown is another config (-want +got)\n%s", diff)
	}
	if shown := string(c.Show()); !strings.Contains(shown, "max_loss: 34%") {
		t.Errorf("the default is not shown:\n%s", shown)
	}
	warnings := ""
	for _, w := range c.Warnings {
		warnings += w.String() + "\n"
	}
	if !strings.Contains(warnings, "checks.lax.icmp.max_loss: a loss of 100%") {
		t.Errorf("got the warnings\n%s", warnings)
	}
}
