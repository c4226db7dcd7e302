package steer_test

import (
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// scene is a random record set, what is known of it, and what the zone shows.
type scene struct {
	in   steer.Input
	seen record.Set
}

func (s scene) decide() steer.Wanted { return steer.Decide(s.in, s.seen) }

// isLive reports whether the zone answers with a value.
func (s scene) isLive(value string) bool {
	a, found := s.seen.Find(value)
	return found && a.Live
}

// barred reports whether a value is out and must not be resumed.
func (s scene) barred(value string) bool {
	a, found := s.seen.Find(value)
	return found && !a.Live && (s.in.Lost || a.Held && !slices.Contains(s.in.Resume, value))
}

// usable lists the values of the answers that are known to be usable.
func (s scene) judged(as steer.Usable) []string {
	var values []string
	for i, a := range s.in.Spec.Answers {
		if s.in.Judged[i].Usable == as {
			values = append(values, a.Value)
		}
	}
	return values
}

func drawScene(t *rapid.T) scene {
	s := scene{in: steer.Input{
		Spec: drawSpec(t), Now: 1000 * time.Second,
		Failback: rapid.Bool().Draw(t, "failback"), Lost: rapid.IntRange(0, 9).Draw(t, "lost") == 0,
	}}
	for _, a := range s.in.Spec.Answers {
		s.in.Judged = append(s.in.Judged, steer.Judged{
			Usable: rapid.SampledFrom([]steer.Usable{steer.NotKnown, steer.No, steer.No, steer.Yes, steer.Yes, steer.Yes}).Draw(t, "usable"),
			Since:  time.Duration(rapid.IntRange(0, 1000).Draw(t, "since")) * time.Second,
			Why:    "what is known of " + a.Value,
		})
	}
	s.seen = drawSeen(t, s.in.Spec)
	for _, value := range s.in.Spec.Values() {
		if rapid.IntRange(0, 4).Draw(t, "approved") == 0 {
			s.in.Resume = append(s.in.Resume, value)
		}
	}
	return s
}

func drawSpec(t *rapid.T) *steer.Spec {
	n := rapid.IntRange(1, 5).Draw(t, "answers")
	spec := &steer.Spec{
		Key:       record.Key{Zone: "example.com.", Name: "www.example.com.", Type: rapid.SampledFrom([]record.Type{record.A, record.A, record.CNAME}).Draw(t, "type")},
		Policy:    rapid.SampledFrom([]steer.Policy{steer.All, steer.Priority}).Draw(t, "policy"),
		OnAllDown: rapid.SampledFrom([]steer.OnAllDown{steer.Keep, steer.Open, steer.None, steer.Fallback}).Draw(t, "on_all_down"),
	}
	most := n
	if spec.Policy == steer.Priority {
		spec.MaxLive = rapid.IntRange(1, n).Draw(t, "max_live")
		most = spec.MaxLive
		spec.Failback = steer.Failback{
			Manual: rapid.Bool().Draw(t, "manual"),
			Hold:   time.Duration(rapid.IntRange(0, 600).Draw(t, "hold")) * time.Second,
		}
	}
	spec.MinLive = rapid.IntRange(0, most).Draw(t, "min_live")
	for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order")[:n] {
		spec.Answers = append(spec.Answers, steer.Answer{Value: valueOf(spec.Key.Type, i), Probe: "192.0.2.1"})
	}
	if spec.OnAllDown == steer.Fallback {
		for i := range rapid.IntRange(1, 2).Draw(t, "fallback") {
			spec.Fallback = append(spec.Fallback, valueOf(spec.Key.Type, 8-i))
		}
	}
	return spec
}

// valueOf is the value of an answer, of a fallback from 7 on, and foreign at 9.
func valueOf(t record.Type, i int) string {
	if t == record.CNAME {
		return string(rune('a'+i)) + ".example.net."
	}
	return "192.0.2." + strconv.Itoa(i)
}

func drawSeen(t *rapid.T, spec *steer.Spec) record.Set {
	seen := record.Set{Key: spec.Key}
	for _, value := range append(spec.Values(), valueOf(spec.Key.Type, 9)) {
		a := record.Answer{Value: value, TTL: time.Minute}
		switch rapid.SampledFrom([]string{"missing", "live", "live", "paused", "paused", "held", "half"}).Draw(t, value) {
		case "missing":
			continue
		case "live":
			a.Live = true
		case "paused":
			a.Paused = true
		case "held":
			a.Held = true
		case "half":
			a.Live, a.Paused = true, true
		}
		seen.Answers = append(seen.Answers, a)
	}
	seen.Sort()
	return seen
}
