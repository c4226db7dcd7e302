package reconcile

import (
	"context"
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

// Nor is one where there was one record set, and the stamp beside it: a person
// who deletes the set leaves the stamp.
func TestCase65EmptyListWithoutTheStampIsNoEmptyZone(t *testing.T) {
	for _, class := range []memory.Class{memory.Rename, memory.Exact} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, memory.Options{Class: class}, values[0])
			s := w.shimmed()
			if report := w.round(w.want(values[1])); report.Err != nil {
				t.Fatal(report.Err)
			}
			s.list = func(context.Context, func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
				return &provider.Snapshot{Zone: zoneName}, nil
			}
			writes := len(w.zone.History())
			for range 10 {
				report := w.round(w.want(values[0]))
				if provider.ClassOf(report.Err) != provider.Retryable || !strings.Contains(report.Err.Error(), "where there was a record set, and a stamp") {
					t.Fatalf("%s: the round ended with %v", class, report.Err)
				}
			}
			if n := len(w.zone.History()) - writes; n != 0 {
				t.Errorf("%s: %d writes from an empty list", class, n)
			}
			s.list = nil
			if report := w.round(w.want(values[0])); report.Err != nil {
				t.Errorf("%s: the list is no longer empty: %v", class, report.Err)
			}
		})
	}
}
