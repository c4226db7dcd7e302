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
	for i, j := range s.in.Judged {
		if j.Usable == as {
			values = append(values, s.in.Spec.At(i).Value)
		}
	}
	return values
}

// of lists the values of one group: "" of the ordinary answers, standby among
// them, "backup", "dr", or "fallback".
func (s scene) of(mode steer.Mode) []string {
	if mode == "fallback" {
		return s.in.Spec.Fallback
	}
	var values []string
	for i := range s.in.Spec.Len() {
		if a := s.in.Spec.At(i); a.Mode == mode || mode == "" && a.Mode == steer.Standby {
			values = append(values, a.Value)
		}
	}
	return values
}

// usable lists the values of some groups that are known to be usable and may be
// answered with.
func (s scene) usable(modes ...steer.Mode) []string {
	var values []string
	for _, mode := range modes {
		for _, value := range s.of(mode) {
			if slices.Contains(s.judged(steer.Yes), value) && !s.barred(value) {
				values = append(values, value)
			}
		}
	}
	return values
}

// doubtful reports whether a value of some groups is live and not judged.
func (s scene) doubtful(modes ...steer.Mode) bool {
	for _, mode := range modes {
		for _, value := range s.of(mode) {
			if s.isLive(value) && slices.Contains(s.judged(steer.NotKnown), value) {
				return true
			}
		}
	}
	return false
}

// disaster is whether the answers for one replace the others.
func (s scene) disaster() steer.Usable {
	if dr := s.in.Spec.DR; len(dr.Answers) == 0 || dr.When == "" {
		return steer.No
	}
	return s.in.Disaster
}

// after is the scene once the wanted set was carried out.
func (s scene) after(w steer.Wanted) scene {
	seen := record.Set{Key: s.seen.Key, Answers: slices.Clone(s.seen.Answers)}
	for _, value := range s.in.Spec.Values() {
		i := slices.IndexFunc(seen.Answers, func(a record.Answer) bool { return a.Value == value })
		switch live := slices.Contains(w.Live, value); {
		case len(w.Live) == 0 && !w.Empty:
		case live && i < 0:
			seen.Answers = append(seen.Answers, record.Answer{Value: value, Live: true})
		case live && !seen.Answers[i].Live:
			seen.Answers[i].Live, seen.Answers[i].Paused, seen.Answers[i].Held = true, false, false
		case !live && i >= 0 && seen.Answers[i].Live:
			seen.Answers[i].Live, seen.Answers[i].Paused = false, true
		}
	}
	seen.Sort()
	s.seen = seen
	return s
}

// live lists the values of the config that the zone answers with, in its order.
func (s scene) live() []string {
	return slices.DeleteFunc(s.in.Spec.Values(), func(v string) bool { return !s.isLive(v) })
}

func drawScene(t *rapid.T) scene {
	s := scene{in: steer.Input{
		Spec: drawSpec(t), Now: 1000 * time.Second,
		Failback: rapid.Bool().Draw(t, "failback"), Lost: rapid.IntRange(0, 9).Draw(t, "lost") == 0,
	}}
	for i := range s.in.Spec.Len() {
		a := s.in.Spec.At(i)
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
	s.in.Disaster = rapid.SampledFrom([]steer.Usable{steer.NotKnown, steer.No, steer.No, steer.Yes}).Draw(t, "disaster")
	if rapid.IntRange(0, 7).Draw(t, "pinned") == 0 {
		values := rapid.Permutation(s.in.Spec.Values()).Draw(t, "pin")
		s.in.Pin, s.in.Pinned = values[:rapid.IntRange(1, len(values)).Draw(t, "of the pin")], "pinned by ann"
	}
	return s
}

func drawSpec(t *rapid.T) *steer.Spec {
	n := rapid.IntRange(1, 5).Draw(t, "answers")
	spec := &steer.Spec{
		Key:       record.Key{Zone: "example.com.", Name: "www.example.com.", Type: rapid.SampledFrom([]record.Type{record.A, record.A, record.CNAME}).Draw(t, "type")},
		Policy:    rapid.SampledFrom([]steer.Policy{steer.All, steer.Priority, steer.Weighted}).Draw(t, "policy"),
		OnAllDown: rapid.SampledFrom([]steer.OnAllDown{steer.Keep, steer.Open, steer.None, steer.Fallback}).Draw(t, "on_all_down"),
	}
	most := n
	if spec.Policy == steer.Priority {
		spec.MaxLive = rapid.IntRange(1, n).Draw(t, "max_live")
		if spec.Key.Type.Single() {
			spec.MaxLive = 1
		}
		most = spec.MaxLive
		spec.Failback = steer.Failback{
			Manual: rapid.Bool().Draw(t, "manual"),
			Hold:   time.Duration(rapid.IntRange(0, 600).Draw(t, "hold")) * time.Second,
		}
	}
	spec.MinLive = rapid.IntRange(0, most).Draw(t, "min_live")
	for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order")[:n] {
		mode := rapid.SampledFrom([]steer.Mode{"", "", "", steer.Backup, steer.Standby}).Draw(t, "mode")
		spec.Answers = append(spec.Answers, steer.Answer{Value: valueOf(spec.Key.Type, i), Probe: "192.0.2.1", Mode: mode})
	}
	if rapid.Bool().Draw(t, "dr") {
		spec.DR = drawDR(t, spec.Key.Type)
	}
	if spec.OnAllDown == steer.Fallback {
		for i := range rapid.IntRange(1, 2).Draw(t, "fallback") {
			spec.Fallback = append(spec.Fallback, valueOf(spec.Key.Type, 8-i))
		}
	}
	return spec
}

func drawDR(t *rapid.T, of record.Type) steer.DR {
	var dr steer.DR
	for i := range rapid.IntRange(1, 2).Draw(t, "of the dr") {
		dr.Answers = append(dr.Answers, steer.Answer{Value: valueOf(of, 5+i), Probe: "192.0.2.1", Mode: steer.Reserve})
	}
	if rapid.Bool().Draw(t, "when") {
		dr.When = "fire"
	}
	dr.IfNone = dr.When == "" || rapid.Bool().Draw(t, "if_none")
	return dr
}

// valueOf is the value of an answer, of one for disasters from 5 on, of a fallback
// from 7 on, and foreign at 9.
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
