package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider/providertest"
)

// promises are in the order of the table.
func promises() []promise {
	return []promise{
		{"get", "every record of a zone of 250 is listed", getsAll},
		{"get", "both values of a name are listed, with their TTL", getsSet},
		{"get", "names are relative to the zone, the apex is @", getsRelative},
		{"get", "a text comes as it is, without quotes and escapes", getsText},
		{"get", "an SRV under a plain name does not break the list", getsOdd},
		{"get", "what the vendor keeps beside the record (its id) is carried in ProviderData", getsNative},
		{"get", "a refused credential is an error", func(w *world) error { return w.getFails(providertest.RefusedRead) }},
		{"get", "a throttled request is an error, or is made again", func(w *world) error { return w.getFailsOrAll(providertest.ThrottledRead) }},
		{"get", "a list that is cut short is an error", func(w *world) error { return w.getFails(providertest.CutList) }},
		{"get", "the context's end is obeyed", getsInTime},

		{"append", "existing values stay, with their TTL", appendsBeside},
		{"append", "two values of a new name are both there", appendsTwo},
		{"append", "a text comes back as it was given", appendsText},
		{"append", "a refused request is an error", func(w *world) error {
			return w.writeFails(providertest.RefusedWrite, w.module.AppendRecords, rr("www", "A", one))
		}},
		{"append", "a throttled request is an error, or is made again", func(w *world) error {
			return w.writeFailsOr(providertest.ThrottledWrite, w.module.AppendRecords, "192.0.2.1/600", rr("www", "A", one))
		}},
		{"append", "a lost reply is an error, or found out about", func(w *world) error {
			return w.writeFailsOr(providertest.LostReply, w.module.AppendRecords, "192.0.2.1/600", rr("www", "A", one))
		}},

		{"set", "two values of a new name are both there", setsTwoNew},
		{"set", "two values take the place of the two that are there", setsTwoOver},
		{"set", "other types and names stay", setsBeside},
		{"set", "a refused request is an error", func(w *world) error {
			w.put("www", "A", two)
			return w.writeFails(providertest.RefusedWrite, w.module.SetRecords, rr("www", "A", one))
		}},

		{"delete", "of two values exactly the one goes", deletesOne},
		{"delete", "of three SRV exactly the one goes", deletesOneSRV},
		{"delete", "a value with another TTL stays", deletesByTTL},
		{"delete", "a value that is not there changes nothing and is no error", deletesNothing},
		{"delete", "what went is returned", deletesAndTells},
		{"delete", "a refused request is an error", func(w *world) error { return deletesRefused(w, "A", one, one) }},
		{"delete", "also for a TXT", func(w *world) error { return deletesRefused(w, "TXT", `"plain"`, "plain") }},
	}
}

const (
	one = "192.0.2.1"
	two = "192.0.2.2"
)

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// listed are the values of a name and type in a list: "DATA/TTL", sorted.
func listed(records []libdns.Record, name, kind string) string {
	var lines []string
	for _, r := range records {
		if r := r.RR(); r.Name == name && r.Type == kind {
			lines = append(lines, fmt.Sprintf("%s/%d", r.Data, int(r.TTL/time.Second)))
		}
	}
	return sorted(lines)
}

func getsAll(w *world) error {
	const many = 250
	for i := range many {
		w.hand.Put(providertest.RR{Name: fmt.Sprintf("n%d.%s", i, zoneName), Type: "A", TTL: 10 * time.Minute, Data: one})
	}
	w.settle()
	records, err := w.get()
	if err != nil {
		return err
	}
	found := 0
	for _, r := range records {
		if r.RR().Type == "A" {
			found++
		}
	}
	if found != many {
		return fmt.Errorf("%d of %d are listed, and no error", found, many)
	}
	return nil
}

func getsSet(w *world) error {
	w.put("www", "A", one, two)
	records, err := w.get()
	if err != nil {
		return err
	}
	if got, want := listed(records, "www", "A"), "192.0.2.1/600 192.0.2.2/600"; got != want {
		return fmt.Errorf("expected %q, got %q", want, got)
	}
	return nil
}

func getsRelative(w *world) error {
	w.put("*.wild", "A", one)
	w.hand.Put(providertest.RR{Name: zoneName, Type: "A", TTL: 10 * time.Minute, Data: one})
	w.settle()
	records, err := w.get()
	if err != nil {
		return err
	}
	var names []string
	for _, r := range records {
		if r.RR().Type == "A" {
			names = append(names, r.RR().Name)
		}
	}
	if got := sorted(names); got != "*.wild @" {
		return fmt.Errorf("expected %q, got %q", "*.wild @", got)
	}
	return nil
}

func getsText(w *world) error {
	w.put("text", "TXT", `"a \"quoted\" word"`)
	records, err := w.get()
	if err != nil {
		return err
	}
	if got, want := listed(records, "text", "TXT"), `a "quoted" word/600`; got != want {
		return fmt.Errorf("expected %q, got %q", want, got)
	}
	return nil
}

func getsOdd(w *world) error {
	w.put("www", "A", one)
	w.put("srv", "SRV", "1 2 5060 sip.example.net.")
	records, err := w.get()
	if err != nil {
		return fmt.Errorf("the whole list fails: %w", err)
	}
	if listed(records, "www", "A") == "" {
		return errors.New("the other records are missing")
	}
	return nil
}

func getsNative(w *world) error {
	w.put("www", "A", one)
	records, err := w.get()
	if err != nil {
		return err
	}
	for _, r := range records {
		v := reflect.Indirect(reflect.ValueOf(r))
		if v.Kind() != reflect.Struct || !v.FieldByName("ProviderData").IsValid() {
			return fmt.Errorf("a record is a %T, which has none", r)
		}
		if v.FieldByName("ProviderData").IsNil() {
			return errors.New("there is none")
		}
	}
	return nil
}

func (w *world) getFails(fault providertest.Fault) error {
	w.put("www", "A", one, two)
	if !w.arm(fault) {
		return errUntried
	}
	if records, err := w.get(); err == nil {
		return fmt.Errorf("%d records and no error", len(records))
	}
	return nil
}

func (w *world) getFailsOrAll(fault providertest.Fault) error {
	w.put("www", "A", one, two)
	if !w.arm(fault) {
		return errUntried
	}
	records, err := w.get()
	if err == nil && listed(records, "www", "A") != "192.0.2.1/600 192.0.2.2/600" {
		return fmt.Errorf("%d records and no error", len(records))
	}
	return nil
}

func getsInTime(w *world) error {
	if !w.arm(providertest.HangRead) {
		return errUntried
	}
	ctx, cancel := context.WithTimeout(w.Context(), 200*time.Millisecond)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := w.module.GetRecords(ctx, zoneName)
		result <- err
	}()
	select {
	case err := <-result:
		if err == nil {
			return errors.New("no error")
		}
		return nil
	case <-time.After(1500 * time.Millisecond): // BIND's client gives up after two seconds by itself
		return errors.New("it goes on after its time is over")
	}
}

func appendsBeside(w *world) error {
	w.put("www", "A", one)
	if _, err := w.do(w.module.AppendRecords, rr("www", "A", two)); err != nil {
		return err
	}
	return w.expect("www", "A", "192.0.2.1/600 192.0.2.2/600")
}

func appendsTwo(w *world) error {
	if _, err := w.do(w.module.AppendRecords, rr("www", "A", one), rr("www", "A", two)); err != nil {
		return err
	}
	return w.expect("www", "A", "192.0.2.1/600 192.0.2.2/600")
}

func appendsText(w *world) error {
	const text = `a "quoted" word`
	if _, err := w.do(w.module.AppendRecords, rr("text", "TXT", text)); err != nil {
		return err
	}
	records, err := w.get()
	if err != nil {
		return err
	}
	if got, want := listed(records, "text", "TXT"), text+"/600"; got != want {
		return fmt.Errorf("expected %q, got %q", want, got)
	}
	return nil
}

type write func(context.Context, string, []libdns.Record) ([]libdns.Record, error)

func (w *world) writeFails(fault providertest.Fault, op write, record libdns.Record) error {
	if !w.arm(fault) {
		return errUntried
	}
	if _, err := w.do(op, record); err == nil {
		return fmt.Errorf("no error; the zone has %q", w.zone(record.RR().Name, record.RR().Type))
	}
	return nil
}

func (w *world) writeFailsOr(fault providertest.Fault, op write, want string, record libdns.Record) error {
	if !w.arm(fault) {
		return errUntried
	}
	if _, err := w.do(op, record); err != nil {
		return nil //nolint:nilerr // an error is what was promised
	}
	return w.expect(record.RR().Name, record.RR().Type, want)
}

func setsTwoNew(w *world) error {
	if _, err := w.do(w.module.SetRecords, rr("www", "A", one), rr("www", "A", two)); err != nil {
		return err
	}
	return w.expect("www", "A", "192.0.2.1/600 192.0.2.2/600")
}

func setsTwoOver(w *world) error {
	w.put("www", "A", "192.0.2.8", "192.0.2.9")
	if _, err := w.do(w.module.SetRecords, rr("www", "A", one), rr("www", "A", two)); err != nil {
		return err
	}
	return w.expect("www", "A", "192.0.2.1/600 192.0.2.2/600")
}

func setsBeside(w *world) error {
	w.put("www", "AAAA", "2001:db8::1")
	w.put("other", "A", two)
	if _, err := w.do(w.module.SetRecords, rr("www", "A", one)); err != nil {
		return err
	}
	return errors.Join(w.expect("www", "A", "192.0.2.1/600"), w.expect("www", "AAAA", "2001:db8::1/600"), w.expect("other", "A", "192.0.2.2/600"))
}

func deletesOne(w *world) error {
	w.put("www", "A", one, two)
	if _, err := w.do(w.module.DeleteRecords, rr("www", "A", two)); err != nil {
		return err
	}
	return w.expect("www", "A", "192.0.2.1/600")
}

func deletesOneSRV(w *world) error {
	w.put("_sip._tcp", "SRV", "1 1 5060 a.example.net.", "1 2 5060 a.example.net.", "1 3 5060 a.example.net.")
	if _, err := w.do(w.module.DeleteRecords, rr("_sip._tcp", "SRV", "1 2 5060 a.example.net.")); err != nil {
		return err
	}
	return w.expect("_sip._tcp", "SRV", "1 1 5060 a.example.net./600 1 3 5060 a.example.net./600")
}

func deletesByTTL(w *world) error {
	w.put("www", "A", one, two)
	other := rr("www", "A", two).RR()
	other.TTL = 20 * time.Minute
	if _, err := w.do(w.module.DeleteRecords, other); err != nil {
		return err
	}
	return w.expect("www", "A", "192.0.2.1/600 192.0.2.2/600")
}

func deletesNothing(w *world) error {
	w.put("www", "A", one, two)
	_, err := w.do(w.module.DeleteRecords, rr("www", "A", "192.0.2.3"))
	if changed := w.expect("www", "A", "192.0.2.1/600 192.0.2.2/600"); changed != nil {
		return changed
	}
	return err
}

func deletesAndTells(w *world) error {
	w.put("www", "A", one, two)
	gone, err := w.do(w.module.DeleteRecords, rr("www", "A", two))
	if err != nil {
		return err
	}
	if got := listed(gone, "www", "A"); got != "192.0.2.2/600" {
		return fmt.Errorf("expected 192.0.2.2/600, got %q", got)
	}
	return nil
}

func deletesRefused(w *world, kind, shown, data string) error {
	w.put("www", kind, shown)
	if !w.arm(providertest.RefusedWrite) {
		return errUntried
	}
	if gone, err := w.do(w.module.DeleteRecords, rr("www", kind, data)); err == nil {
		return fmt.Errorf("%d records returned as deleted, and no error; the zone has %q", len(gone), w.zone("www", kind))
	}
	return nil
}
