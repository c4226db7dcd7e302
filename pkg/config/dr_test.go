package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestWeightsVariantsAndDisasters: what the file says of them arrives, and the
// effective config says it again.
func TestWeightsVariantsAndDisasters(t *testing.T) {
	const text = `
zones: [{zone: example.com, provider: tencentcloud, secret_id: x, secret_key: y}]
checks: {web: {tcp: {port: 8443}}}
scenarios: {fire: {all: [not web@192.0.2.1]}}
records:
  - name: www.example.com
    variant: telecom
    policy: weighted
    check: web
    answers: [{value: 192.0.2.1, weight: 70}, 192.0.2.2, {value: 192.0.2.3, weight: 0, mode: backup}]
    dr: {answers: [198.51.100.40], when: fire}
  - name: www.example.com
    variant: unicom
    policy: priority
    check: web
    answers: [192.0.2.1, {value: 192.0.2.2, mode: backup}]
    dr: {answers: [198.51.100.40, 198.51.100.41]}
  - name: www.example.com
    check: web
    answers: [192.0.2.1]
    dr: {answers: [198.51.100.40], when: fire, if_none: true}
`
	opts := world()
	cfg, err := Parse("sidestep.yaml", []byte(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	key := record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}
	telecom, unicom := key, key
	telecom.Variant, unicom.Variant = "telecom", "unicom"
	reserve := func(value string, weight int) steer.Answer {
		return steer.Answer{Value: value, Probe: value, Mode: steer.Reserve, Weight: weight}
	}
	plain := func(value string) steer.Answer { return steer.Answer{Value: value, Probe: value} }
	want := []*steer.Spec{
		{
			Key: telecom, Policy: steer.Weighted, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"}, AskFirst: true,
			Answers: []steer.Answer{
				{Value: "192.0.2.1", Probe: "192.0.2.1", Weight: 70}, {Value: "192.0.2.2", Probe: "192.0.2.2", Weight: 1},
				{Value: "192.0.2.3", Probe: "192.0.2.3", Mode: steer.Backup},
			},
			DR: steer.DR{Answers: []steer.Answer{reserve("198.51.100.40", 1)}, When: "fire"},
		},
		{
			Key: unicom, Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"}, AskFirst: true,
			Failback: steer.Failback{Hold: 5 * time.Minute},
			Answers:  []steer.Answer{plain("192.0.2.1"), {Value: "192.0.2.2", Probe: "192.0.2.2", Mode: steer.Backup}},
			DR:       steer.DR{Answers: []steer.Answer{reserve("198.51.100.40", 0), reserve("198.51.100.41", 0)}, IfNone: true},
		},
		{
			Key: key, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"}, AskFirst: true,
			Answers: []steer.Answer{plain("192.0.2.1")},
			DR:      steer.DR{Answers: []steer.Answer{reserve("198.51.100.40", 0)}, When: "fire", IfNone: true},
		},
	}
	if diff := cmp.Diff(want, cfg.Records); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var shownRecords []shown
	for _, spec := range cfg.Records {
		shownRecords = append(shownRecords, showRecord(spec))
	}
	for i, want := range []string{"telecom", "unicom", ""} {
		found := false
		for _, p := range shownRecords[i] {
			found = found || p.key == "variant" && p.value == any(want)
		}
		if found != (want != "") {
			t.Errorf("record set %d shows its variant: %v", i, found)
		}
	}
}
