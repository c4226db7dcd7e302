package daemon

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestCase42UnicodeZone steers straße and ärzte in the zone bücher.example, at
// a provider that answers in A-labels and at one that answers in Unicode. A
// second plan finds nothing, no name gets the zone twice, and people see both
// forms.
func TestCase42UnicodeZone(t *testing.T) {
	const zoneName = record.Name("xn--bcher-kva.example.")
	for form, names := range map[string][2]string{
		"A-labels": {"xn--strae-oqa.xn--bcher-kva.example.", "xn--rzte-koa.xn--bcher-kva.example."},
		"Unicode":  {"straße.bücher.example", "Ärzte.Bücher.example"},
	} {
		for _, class := range memory.Classes() {
			t.Run(form+" "+string(class), func(t *testing.T) {
				bubbled(t, func(t *testing.T) {
					w := newWorld(t, memory.Options{Class: memory.Exact})
					w.config.Zones, w.config.Records = nil, nil
					zone := w.addZone(zoneName, memory.Options{Class: class})
					for i, name := range names {
						parsed, err := record.ParseName(name)
						if err != nil {
							t.Fatal(err)
						}
						spec := &steer.Spec{
							Key: record.Key{Zone: zoneName, Name: parsed, Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
							Checks: []string{"web"}, Answers: []steer.Answer{{Value: a, Probe: a}, {Value: b, Probe: b}},
						}
						w.config.Records = append(w.config.Records, spec)
						if err := zone.EditByHand(memory.Put(names[i], "A", time.Minute, a), memory.Put(names[i], "A", time.Minute, b)); err != nil {
							t.Fatal(err)
						}
					}
					w.site.fail(a)
					first, err := w.reconcile(control.PlanRequest{})
					if err != nil || len(first.Zones[0].Applied) < 2 {
						t.Fatalf("the first: %+v, %v", first, err)
					}
					if text := strings.Join(first.Zones[0].Text, "\n"); !strings.Contains(text, "xn--strae-oqa.xn--bcher-kva.example. (straße.bücher.example.) A pause") {
						t.Errorf("the plan shows not both forms:\n%s", text)
					}
					second, err := w.plan(control.PlanRequest{})
					if err != nil || !second.Zones[0].InSync {
						t.Errorf("the second: %+v, %v", second, err)
					}
					for _, r := range zone.Records() {
						name, err := record.ParseName(r.Name)
						if err != nil || strings.Count(string(name), string(zoneName)) != 1 || !name.In(zoneName) {
							t.Errorf("a name of the zone is %q", r.Name)
						}
					}
					for _, spec := range w.config.Records {
						if live := zone.Live(spec.Key); !slices.Equal(live, []string{b}) {
							t.Errorf("%s answers with %v", spec.Key, live)
						}
					}
				})
			})
		}
	}
}

// TestCase45AliasThereAndBack switches a CNAME to its second value and back at a
// provider whose calls are atomic, and which refuses the first tries. The name
// always has one alias, and records of other types at other names stay.
func TestCase45AliasThereAndBack(t *testing.T) {
	const first, second = "a.example.net.", "b.example.net."
	for _, class := range []memory.Class{memory.Rename, memory.Exact, memory.Prerequisites, memory.Whole} {
		t.Run(string(class), func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: class})
				w.config.Records = nil
				key := record.Key{Zone: home, Name: "cdn.example.com.", Type: record.CNAME}
				w.addSet(&steer.Spec{
					Key: key, Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Failback: steer.Failback{Hold: time.Minute},
				}, first, second)
				w.config.Records[0].Answers[0].Probe, w.config.Records[0].Answers[1].Probe = a, b
				zone := w.zones[home]
				if err := zone.EditByHand(
					memory.Put("www.example.com.", "TXT", time.Hour, "beside"), memory.Put("www.example.com.", "MX", time.Hour, "10 mail.example.net."),
				); err != nil {
					t.Fatal(err)
				}
				d := w.run()
				time.Sleep(settled)
				w.site.fail(a)
				zone.Faults(func(op memory.Op, _ int) memory.Fault {
					if op.Write() {
						return memory.Fault{Kind: memory.Throttled}
					}
					return memory.Fault{}
				})
				time.Sleep(settled)
				if live := zone.Live(key); !slices.Equal(live, []string{first}) {
					t.Errorf("after a switch that was refused: %v", live)
				}
				zone.Faults(nil)
				time.Sleep(settled)
				if live := zone.Live(key); !slices.Equal(live, []string{second}) {
					t.Errorf("after the first died: %v", live)
				}
				w.site.heal(a)
				time.Sleep(3 * settled)
				if live := zone.Live(key); !slices.Equal(live, []string{first}) {
					t.Errorf("after it came back: %v", live)
				}
				d.end()
				w.everOneAlias(zone, key.Name)
			})
		})
	}
}

// everOneAlias checks that a name had exactly one live alias in every version of
// a zone since it had the first, and that what is beside it is still there.
func (w *world) everOneAlias(zone *memory.Zone, name record.Name) {
	w.Helper()
	begun := false
	for _, v := range zone.History() {
		aliases := 0
		for _, r := range v.Records {
			if r.Name == string(name) && r.Type == "CNAME" && !r.Disabled {
				aliases++
			}
		}
		begun = begun || aliases > 0
		if begun && aliases != 1 {
			w.Errorf("%d aliases after: %s", aliases, v.Cause)
		}
	}
	kept := 0
	for _, r := range zone.Records() {
		if r.Name == "www.example.com." && r.Type != "A" {
			kept++
		}
	}
	if !begun || kept != 2 {
		w.Errorf("an alias was seen: %v; %d of 2 foreign records are left", begun, kept)
	}
}
