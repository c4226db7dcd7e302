package cli

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestImportKeepsWhatItCannotExpress: lines, set identifiers and weights are
// imported, and everything else of the zone is in a comment that nothing of the
// zone can break out of.
func TestImportKeepsWhatItCannotExpress(t *testing.T) {
	key := func(label string, kind record.Type, variant string) record.Key {
		return record.Key{Zone: "example.com.", Name: record.Name(label + ".example.com."), Type: kind, Variant: variant}
	}
	live := func(value string, weight int) record.Answer {
		return record.Answer{Value: value, TTL: time.Minute, Weight: weight, Live: true}
	}
	s := &provider.Snapshot{
		Zone: "example.com.", Records: 20,
		Sets: []record.Set{
			{Key: key("shares", record.A, ""), Answers: []record.Answer{live("192.0.2.1", 3), live("192.0.2.2", 7)}},
			{Key: key("www", record.A, ""), Answers: []record.Answer{live("192.0.2.1", 1), live("192.0.2.2", 1), {Value: "192.0.2.3", Held: true}}},
			{Key: key("www", record.A, "电信: \"x\"\nrecords: []\u0081\ufeff\uffff"), Answers: []record.Answer{live("192.0.2.4", 1), {Value: "192.0.2.5", TTL: time.Minute, Weight: 1, Paused: true}}},
			{Key: key("switched", record.CNAME, ""), Answers: []record.Answer{live("a.example.net.", 1), {Value: "b.example.net.", Paused: true}}},
			{Key: key("lonely", record.AAAA, "eu"), Answers: []record.Answer{live("2001:db8::", 1)}},
		},
		Fixed:   []provider.Fixed{{Key: key("lb", record.A, ""), What: "an alias of lb.example.net."}},
		Skipped: []string{"odd\nrecords: [] # \u2028 \x85", "bad \u0081 \u009f \ufeff \ufffe \uffff \x00 \x7f \xc2"},
	}
	record.SortSets(s.Sets)
	im := sortZone(s, "tencentcloud", true)
	text := im.configText([]byte("- zone: example.com\n  provider: tencentcloud\n  secret_id: env:ID\n  secret_key: env:KEY\n"), 8443, time.Unix(0, 0), "sidestep import")
	cfg, err := config.Parse("made.yaml", []byte(text), config.Options{SkipSecrets: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(cfg.Records) != 3 || cfg.Records[0].Policy != steer.Weighted || cfg.Records[0].Answers[1].Weight != 7 || len(cfg.Records[1].Answers) != 2 ||
		cfg.Records[2].Key.Variant != s.Sets[4].Key.Variant && cfg.Records[1].Key.Variant != s.Sets[4].Key.Variant {
		t.Errorf("%d record sets from\n%s", len(cfg.Records), text)
	}
	for _, want := range []string{
		"\n# lb.example.com. A: an alias of lb.example.net.\n",
		"\n# lonely.example.com. AAAA [eu]: 2001:db8::\n",
		"\n# switched.example.com. CNAME: a.example.net., b.example.net. (paused); an alias with a parked value: to steer it, say in which order\n",
		"\n      # - 192.0.2.3   paused at the provider, and not by sidestep: name it here to see it as held\n",
		"\n      - 192.0.2.5 # paused by sidestep: comes back when its check passes\n",
		"\n# not steered: odd records: [] #",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("expected %q in\n%s", want, text)
		}
	}
}

// TestImportHelpNamesItsVariables: of each secret that is looked for, the first
// place.
func TestImportHelpNamesItsVariables(t *testing.T) {
	long := testApp().importCommand().Long
	for name, keys := range usual {
		for key, variables := range keys {
			if !strings.Contains(long, variables[0]) {
				t.Errorf("%s, %s: the help does not name %s", name, key, variables[0])
			}
		}
	}
}
