package reconcile

import (
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// A list that came back empty where there were record sets is an error and not
// a zone: nothing is created from it.
func TestCase65EmptyListIsNoEmptyZone(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0])
		w.hand(t, memory.Put("mail", "A", 0, values[1]))
		if report := w.only().worker().look(t.Context()); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.hand(t, memory.Delete("www", "A", values[0]), memory.Delete("mail", "A", values[1]))
		writes := len(w.zone.History())
		report := w.round(w.want(values[0]))
		if provider.ClassOf(report.Err) != provider.Retryable || !strings.Contains(report.Err.Error(), "empty where there were 2 record sets") {
			t.Errorf("the round ended with %v", report.Err)
		}
		if n := len(w.zone.History()) - writes; n != 0 {
			t.Errorf("%d writes from an empty list", n)
		}
		w.hand(t, memory.Put("mail", "A", 0, values[1]))
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Errorf("the list is no longer empty: %v", report.Err)
		}
	})
}
