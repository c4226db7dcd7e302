package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// tolerated is what each class cannot rule out when two nodes write from lists
// of any age, calls come late, and an operator edits in between. Nothing is
// ever lost but what a whole set is written over.
var tolerated = map[memory.Class][]memory.Tolerance{
	memory.Status:        {memory.Emptied, memory.Overwritten, memory.Doubled},
	memory.Rename:        nil,
	memory.Exact:         nil,
	memory.Prerequisites: nil,
	memory.Whole:         {memory.Overwritten},
	memory.Append:        {memory.Emptied, memory.Overwritten, memory.Doubled},
}

// TestAnythingGoes lets two nodes do what no caller should: write from old
// lists, never wait, take time-outs for nothing.
func TestAnythingGoes(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newWild(t, class)
				steps := rapid.IntRange(5, 60).Draw(t, "steps")
				for range steps {
					w.step()
				}
				if err := memory.Check(w.zone.History(), tolerated[class]...); err != nil {
					t.Fatalf("%v\n%s", err, w.story())
				}
			})
		})
	}
}

// wild is a zone, two nodes with a list each, and no caution.
type wild struct {
	*rapid.T

	zone  *memory.Zone
	nodes map[string]*provider.Snapshot
	fault memory.Fault
	seq   int
}

func newWild(t *rapid.T, class memory.Class) *wild {
	w := &wild{T: t, zone: memory.NewZone("example.com.", memory.Options{Class: class}), nodes: map[string]*provider.Snapshot{}}
	w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		if !op.Write() {
			return memory.Fault{}
		}
		return w.fault
	})
	w.edit(memory.Put("www.example.com.", "A", minute, a), memory.Put("www.example.com.", "A", minute, b))
	w.edit(memory.Put("www.example.com.", "MX", minute, "10 mail."), memory.Put("www.example.com.", "AAAA", minute, "2001:db8::1"))
	w.look("one")
	w.look("two")
	return w
}

func (w *wild) edit(edits ...memory.Edit) {
	// An edit that finds nothing to do is one that the operator does not make.
	if err := w.zone.EditByHand(edits...); err != nil {
		w.Logf("not edited: %v", err)
	}
}

func (w *wild) look(node string) {
	s, err := w.zone.Adapter(node).List(w.Context())
	if err != nil {
		w.Fatalf("list: %v", err)
	}
	w.nodes[node] = s
}

func (w *wild) step() {
	node := rapid.SampledFrom([]string{"one", "two"}).Draw(w.T, "node")
	w.fault = memory.Fault{Kind: rapid.SampledFrom([]memory.Kind{memory.None, memory.None, memory.None, memory.LostReply, memory.LostRequest, memory.Late, memory.Late}).Draw(w.T, "fault")}
	switch rapid.IntRange(0, 9).Draw(w.T, "what") {
	case 0, 1, 2:
		w.look(node)
	case 3:
		w.claim(node)
	case 4, 5, 6:
		w.write(node)
	case 7, 8:
		if n := len(w.zone.Open()); n > 0 {
			// A refusal is seen by nobody but the history.
			_ = w.zone.Deliver(rapid.IntRange(0, n-1).Draw(w.T, "open"))
		}
	default:
		w.byHand()
	}
}

func (w *wild) stamp(node string) provider.Stamp {
	w.seq++
	return provider.Stamp{Holder: node, Nonce: fmt.Sprintf("%016x", w.seq)}
}

func (w *wild) claim(node string) {
	f, ok := w.zone.Adapter(node).(provider.Fencer)
	if !ok {
		return
	}
	w.look(node)
	if err := f.Claim(w.Context(), w.nodes[node], w.stamp(node), nil); err == nil {
		w.look(node)
	}
}

// write does to a value what its state in the node's list allows.
func (w *wild) write(node string) {
	seen := w.nodes[node]
	value := rapid.SampledFrom([]string{a, b, c}).Draw(w.T, "value")
	answer, found := seen.Set(www).Find(value)
	call := provider.Call{Key: www, Seen: seen, Next: w.stamp(node)}
	change := record.Change{Action: record.Pause, Key: www, Value: value}
	switch {
	case !found:
		change.Action, change.TTL, change.Weight = record.Create, minute, 1
		call.Add = []record.Change{change}
	case !answer.Live:
		change.Action = record.Resume
		call.Add = []record.Change{change}
	default:
		call.Away = []record.Change{change}
		call.Survivors = slices.DeleteFunc(seen.Set(www).Live(), func(v string) bool { return v == value })
	}
	adapter := w.zone.Adapter(node)
	write := adapter.Add
	if len(call.Away) > 0 {
		write = adapter.TakeAway
	}
	if err := write(w.Context(), call); err != nil && provider.ClassOf(err) == provider.Permanent {
		w.Fatalf("a legal write was refused for good: %v", err)
	}
}

func (w *wild) byHand() {
	value := rapid.SampledFrom([]string{a, b, c}).Draw(w.T, "value")
	switch rapid.IntRange(0, 3).Draw(w.T, "edit") {
	case 0:
		w.edit(memory.Put("www.example.com.", "A", minute, value))
	case 1:
		w.edit(memory.Delete("www.example.com.", "A", value))
	case 2:
		w.edit(memory.Retime("www.example.com.", "A", value, time.Hour))
	default:
		w.edit(memory.Delete("_sidestep.example.com.", "TXT", w.stampText()))
	}
}

func (w *wild) stampText() string {
	for _, r := range w.zone.Records() {
		if r.Name == "_sidestep.example.com." {
			return r.Value
		}
	}
	return ""
}

// story is the history for people.
func (w *wild) story() string {
	text := ""
	for i, v := range w.zone.History() {
		text += fmt.Sprintf("%d %s\n", i, v.Cause)
		for _, r := range v.Records {
			text += "    " + r.String() + "\n"
		}
	}
	return text
}
