package tencentcloud

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/record"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

func create(seen *provider.Snapshot, k record.Key, value string, ttl time.Duration) provider.Call {
	return provider.Call{Key: k, Seen: seen, Add: []record.Change{{Action: record.Create, Key: k, Value: value, TTL: ttl}}}
}

func failed(t *testing.T, err error, class provider.Class, words ...string) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != class {
		t.Fatalf("expected an error of class %v, got %v", class, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("not one line: %q", err)
	}
	return e
}

// TestCase46MXHasItsPriorityInAFieldOfItsOwn: an MX and an SRV at DNSPod, of which
// a common adapter sends the priority inside the value. sidestep steers neither
// and refuses before any request; through libdns the priority of an MX goes into
// its own parameter, and the other member of the set stays as it is.
func TestCase46MXHasItsPriorityInAFieldOfItsOwn(t *testing.T) {
	a, f := world(t, tencentcloudtest.Options{})
	f.Insert(tencentcloudtest.Record{Name: "@", Type: "MX", Value: "mx2.example.com.", MX: 20, TTL: 600, Remark: "second"})
	before, seen := f.Attributes(), list(t, a)
	f.Server.Forget()
	for _, kind := range []record.Type{"MX", "SRV"} {
		mx := record.Key{Zone: testZone, Name: testZone, Type: kind}
		failed(t, a.Add(t.Context(), create(seen, mx, "10 mx1.example.com.", time.Minute)), provider.Permanent, "A, AAAA or CNAME")
	}
	if calls := f.Calls(); len(calls) != 0 {
		t.Errorf("calls were made: %v", calls)
	}
	done, err := a.AppendRecords(t.Context(), testZone, []libdns.Record{libdns.MX{Name: "@", Preference: 10, Target: "mx1.example.com.", TTL: 600 * time.Second}})
	if err != nil || len(done) != 1 {
		t.Fatalf("%v, %v", done, err)
	}
	requests := f.Server.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, `"Value":"mx1.example.com."`) || !strings.Contains(body, `"MX":10`) {
		t.Errorf("sent %s", body)
	}
	if mx, ok := done[0].(libdns.MX); !ok || mx.Preference != 10 || mx.Target != "mx1.example.com." {
		t.Errorf("returned %+v", done[0])
	}
	for _, line := range before {
		if !slices.Contains(f.Attributes(), line) {
			t.Errorf("gone: %s", line)
		}
	}
}

// TestTTLAboveTheVendorsLargest: a wish for more is met by it, and never refused.
func TestTTLAboveTheVendorsLargest(t *testing.T) {
	a, f := world(t, tencentcloudtest.Options{})
	a.mustAdd(t, create(list(t, a), www, "192.0.2.99", 2*maxTTL))
	got := answerOf(t, a, "192.0.2.99")
	if got.TTL != maxTTL || got.Kept(2*maxTTL) != maxTTL || a.Promises().MaxTTL != maxTTL {
		t.Errorf("listed as %+v", got)
	}
	f.Server.Forget()
	a.mustTakeAway(t, provider.Call{Key: www, Seen: list(t, a), Away: []record.Change{{Action: record.SetTTL, Key: www, Value: "192.0.2.99", TTL: 2 * maxTTL}}})
	if n := f.Count("ModifyRecord"); n != 0 {
		t.Errorf("a TTL that is met is written %d times", n)
	}
}

// TestCase50TTLBelowThePlansMinimum: the free plan keeps no TTL below 600. A config
// that says 60 gets its address in at once, with 600; one warning says so, and the
// list tells the smallest TTL, so that no plan asks for 60 again. When the plan
// was changed between two failovers the first create is refused and the second one
// goes through.
func TestCase50TTLBelowThePlansMinimum(t *testing.T) {
	for _, grade := range []string{"DP_FREE", "DP_PLUS"} {
		t.Run(grade, func(t *testing.T) {
			f := tencentcloudtest.Start(t, tencentcloudtest.Options{Grade: grade, RefuseTTL: true})
			var log bytes.Buffer
			s := settings(f)
			s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			a := connect(t, s)
			list(t, a)
			f.SetGrade("DP_FREE") // of which the adapter knows nothing when it was another
			seen := list(t, a)
			f.Server.Forget()
			a.mustAdd(t, create(seen, www, one, time.Minute))
			a.mustAdd(t, create(list(t, a), www, two, time.Minute))
			want := 2
			if grade != "DP_FREE" {
				want = 3
			}
			if n := f.Count("CreateRecord"); n != want {
				t.Errorf("%d creates, want %d", n, want)
			}
			if n := strings.Count(log.String(), "effective=10m0s"); n != 1 {
				t.Errorf("%d warnings: %s", n, log.String())
			}
			got := answerOf(t, a, one)
			if got.TTL != freeTTL || got.MinTTL != freeTTL || a.Promises().MinTTL != freeTTL {
				t.Errorf("listed as %+v, promised %v", got, a.Promises().MinTTL)
			}
			f.Server.Forget()
			a.mustTakeAway(t, provider.Call{Key: www, Seen: list(t, a), Away: []record.Change{{Action: record.SetTTL, Key: www, Value: one, TTL: time.Minute}}})
			if n := f.Count("ModifyRecord"); n != 0 {
				t.Errorf("a TTL that is met is written %d times", n)
			}
		})
	}
}

// TestCase51EveryPageIsRead: zones of 99 to 6001 records of which the last is ours.
// Every one is listed, whatever the size of a page.
func TestCase51EveryPageIsRead(t *testing.T) {
	for _, n := range []int{99, 100, 101, 250, 3000, 3001, 6001} {
		a, f := world(t, tencentcloudtest.Options{})
		for i := range n - 3 { // with the two name servers
			f.Insert(tencentcloudtest.Record{Name: fmt.Sprintf("n%05d", i), Type: "A", Value: one, TTL: 600})
		}
		f.Insert(tencentcloudtest.Record{Name: "zzz", Type: "A", Value: two, TTL: 600})
		f.Server.Forget()
		s := list(t, a)
		if s.Records != n || len(s.Sets) != n-2 {
			t.Errorf("%d records: listed %d, %d sets", n, s.Records, len(s.Sets))
		}
		if live := s.Set(key("zzz", record.A)).Live(); !slices.Equal(live, []string{two}) {
			t.Errorf("%d records: the last is %v", n, live)
		}
		want := 1 // and then each begins with the last record of the one before
		for read := maxPage; read < n; read += maxPage - 1 {
			want++
		}
		if got := f.Count("DescribeRecordList"); got != want {
			t.Errorf("%d records: %d pages, want %d", n, got, want)
		}
	}
}

// TestCase53LinesAreApart: www has one value on the default line, one for China
// Telecom and one for abroad. Ten failovers of the default line, and ten of that
// of China Telecom, leave the two other lines byte for byte; requests name the
// line by its id. It is the same in the international edition, which has other
// names for them, and whether the config says the name or the id.
func TestCase53LinesAreApart(t *testing.T) {
	for _, test := range []struct{ edition, variant, line string }{
		{"china", "", "0"}, {"china", "默认", "0"}, {"china", "电信", "10=0"}, {"china", "10=0", "10=0"},
		{"international", "", "0"}, {"international", "Default", "0"}, {"international", "China Telecom", "10=0"}, {"international", "10=0", "10=0"},
	} {
		t.Run(test.edition+" "+test.variant, func(t *testing.T) {
			f := tencentcloudtest.Start(t, tencentcloudtest.Options{Edition: test.edition})
			for line, value := range map[string]string{"0": "192.0.2.10", "10=0": "192.0.2.20", "3=0": "203.0.113.9"} {
				f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Line: line, Value: value, TTL: 600, Remark: "line " + line})
			}
			s := settings(f)
			s.Options["edition"] = test.edition
			if test.variant != "" {
				s.Variants = []string{test.variant}
			}
			a := connect(t, s)
			others := func() []string {
				return slices.DeleteFunc(f.Attributes(), func(r string) bool { return strings.Contains(r, "line="+test.line+" ") })
			}
			before := others()
			line := www
			line.Variant = test.variant
			failovers(t, a, line, 10)
			if after := others(); !slices.Equal(before, after) {
				t.Errorf("the other lines were\n%s\nare\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			for _, r := range f.Server.Requests() {
				if r.Header.Get("X-TC-Action") == "CreateRecord" && !strings.Contains(string(r.Body), `"RecordLineId":"`+test.line+`"`) {
					t.Errorf("created by %s", r.Body)
				}
			}
		})
	}
}

// failovers goes from the one live value of a set to another and back, n times.
func failovers(t *testing.T, a *Adapter, k record.Key, n int) {
	t.Helper()
	const spare = "192.0.2.99"
	values := []string{list(t, a).Set(k).Live()[0], spare}
	for i := range n {
		from, to := values[i%2], values[(i+1)%2]
		action := record.Resume
		if _, found := list(t, a).Set(k).Find(to); !found {
			action = record.Create
		}
		a.mustAdd(t, provider.Call{Key: k, Seen: list(t, a), Add: []record.Change{{Action: action, Key: k, Value: to, TTL: 600 * time.Second}}})
		a.mustTakeAway(t, provider.Call{Key: k, Seen: list(t, a), Away: []record.Change{{Action: record.Pause, Key: k, Value: from}}, Survivors: []string{to}})
		if live := list(t, a).Set(k).Live(); !slices.Equal(live, []string{to}) {
			t.Fatalf("failover %d: live is %v, want %s", i, live, to)
		}
	}
}

// TestCase53UnknownLine: a line that the plan does not have is told before anything
// is written, with those that it has.
func TestCase53UnknownLine(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{Edition: "international"})
	line := www
	line.Variant = "电信"
	before := f.Attributes()
	failed(t, a.Add(t.Context(), create(list(t, a), line, one, time.Minute)), provider.Permanent, `no line "电信"`, "China Telecom (10=0)", "correct variant")
	if !slices.Equal(before, f.Attributes()) {
		t.Error("something was written")
	}
}

// TestCase53OneLineSpelledTwice: the config calls one line by its name and by its
// id, or the default line by its name in one record and not at all in another.
func TestCase53OneLineSpelledTwice(t *testing.T) {
	_, f, _ := pair(t, tencentcloudtest.Options{})
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Line: "10=0", Value: one, TTL: 600})
	s := settings(f)
	s.Variants = []string{"10=0", "电信"}
	_, err := connect(t, s).List(t.Context())
	failed(t, err, provider.Permanent, "are one line")
	s.Variants = []string{"默认", "0"}
	_, err = New(s)
	failed(t, err, provider.Permanent, "are one line")
	s.Variants = []string{"默认"}
	a := connect(t, s)
	failed(t, a.Add(t.Context(), create(list(t, a), www, one, time.Minute)), provider.Permanent, "write variant: 默认")
}

// TestCase56PlanLimitOnLiveValues: the plan allows two live values of a name. One
// of two dies and a third is wanted: the create is refused as what it is, for good,
// and so is the resume of one that is paused. The healthy value stays throughout.
func TestCase56PlanLimitOnLiveValues(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{Roll: 2})
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: "192.0.2.3", TTL: 600, Paused: true, Remark: markAt(time.Now())})
	before := f.Attributes()
	for _, call := range []provider.Call{create(list(t, a), www, "192.0.2.4", time.Minute), resume(list(t, a), "192.0.2.3")} {
		e := failed(t, a.Add(t.Context(), call), provider.Permanent, "the domain's plan allows no more live values", "upgrade the plan")
		if e.Code != "LimitExceeded.SubdomainRollLimit" || !e.Full {
			t.Errorf("code %q, full %v", e.Code, e.Full)
		}
	}
	f.Server.Arm(tencentcloudtest.Action("CreateRecord"), 0, tencentcloudtest.Refusal("LimitExceeded.SubdomainLevelLimit"))
	if e := failed(t, a.Add(t.Context(), create(list(t, a), www, "192.0.2.4", time.Minute)), provider.Permanent); e.Full {
		t.Error("values make room where no value is too many")
	}
	if !slices.Equal(before, f.Attributes()) {
		t.Errorf("the zone is\n%s", strings.Join(f.Attributes(), "\n"))
	}
	a.mustTakeAway(t, pause(list(t, a), one, two)) // room is made by what the plan of sidestep takes out
	a.mustAdd(t, resume(list(t, a), "192.0.2.3"))
}

// TestCase66ErrorsInsideOf200: (a) a throttled list is an error and no empty zone,
// (b) a write with an error in its answer has failed, (c) so has one that a proxy
// answers, as far as anybody knows, and (d) a look that is throttled before a write
// lets nothing be written.
func TestCase66ErrorsInsideOf200(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	seen := list(t, a)
	before := f.Attributes()
	f.Server.Arm(tencentcloudtest.Action("DescribeRecordList"), 0, tencentcloudtest.Refusal("RequestLimitExceeded"))
	if s, err := a.List(t.Context()); s != nil {
		t.Errorf("a throttled list is %+v", s)
	} else {
		failed(t, err, provider.Retryable, "RequestLimitExceeded")
	}
	ttl := provider.Call{Key: www, Seen: seen, Away: []record.Change{{Action: record.SetTTL, Key: www, Value: one, TTL: 20 * time.Minute}}}
	f.Server.Arm(tencentcloudtest.Action("ModifyRecord"), 0, tencentcloudtest.Refusal("AuthFailure.SignatureExpire"))
	failed(t, a.TakeAway(t.Context(), ttl), provider.Retryable, "SignatureExpire")
	f.Server.Arm(tencentcloudtest.Action("ModifyRecord"), 0, page(http.StatusBadGateway))
	failed(t, a.TakeAway(t.Context(), ttl), provider.Ambiguous, "HTTP 502")
	for _, action := range []string{"DescribeRecord", "DescribeRecordList"} {
		f.Server.Arm(tencentcloudtest.Action(action), 0, tencentcloudtest.Refusal("RequestLimitExceeded"))
	}
	failed(t, a.TakeAway(t.Context(), ttl), provider.Retryable)
	if _, err := a.SetRecords(t.Context(), testZone, []libdns.Record{libdns.RR{Name: "www", Type: "A", Data: "192.0.2.9"}}); err == nil {
		t.Error("a libdns write beside a throttled list went through")
	}
	if !slices.Equal(before, f.Attributes()) {
		t.Errorf("the zone is\n%s", strings.Join(f.Attributes(), "\n"))
	}
	if byID(t, f, id).TTL != 600 {
		t.Error("the TTL was changed")
	}
}

func page(status int) httpfake.Fault {
	return httpfake.Fault{Name: "page", Status: status, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<!DOCTYPE html><html><body>bad gateway</body></html>"}
}

// TestCase70LostRepliesMakeNoSecondRecord: a create is carried out and its answer is
// lost: the connection ends before the headers, or in the middle of the body. At a
// provider that takes equal records the next write, from a new list, makes no
// second one, and neither does one that repeats the old call where the provider
// refuses it.
func TestCase70LostRepliesMakeNoSecondRecord(t *testing.T) {
	lost := map[string]httpfake.Fault{
		"before the headers": {Apply: true, Drop: true},
		"in the body":        {Apply: true, Status: http.StatusOK, Body: `{"Response":{"RecordId":17`},
	}
	for name, fault := range lost {
		for _, duplicates := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, duplicates %v", name, duplicates), func(t *testing.T) {
				a, f := world(t, tencentcloudtest.Options{Duplicates: duplicates})
				call := create(list(t, a), www, one, time.Minute)
				f.Server.Arm(tencentcloudtest.Writes, 0, fault)
				failed(t, a.Add(t.Context(), call), provider.Ambiguous)
				a.mustAdd(t, create(list(t, a), www, one, time.Minute))
				if n := f.Count("CreateRecord"); n != 1 {
					t.Errorf("%d creates were sent", n)
				}
				if !duplicates {
					e := failed(t, a.Add(t.Context(), call), provider.Conflict, "listed again")
					if e.Code != "InvalidParameter.DomainRecordExist" {
						t.Errorf("code %q", e.Code)
					}
				}
				if n := len(f.Records()); n != 3 {
					t.Errorf("%d records", n)
				}
			})
		}
	}
}

// TestCase71NewRecordsAreMissingFromLists: for half a minute a new record is not
// listed. The promise says for how long; a pause that counts on the record does
// not go through, and a create that is repeated all the same makes no second
// record.
func TestCase71NewRecordsAreMissingFromLists(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	a, f, _ := pair(t, tencentcloudtest.Options{Lag: listLag, Now: clock})
	a.now = clock
	if lag := a.Promises().Lag; lag != listLag {
		t.Fatalf("promised lag %v", lag)
	}
	a.mustAdd(t, create(list(t, a), www, "192.0.2.3", time.Minute))
	if _, found := list(t, a).Set(www).Find("192.0.2.3"); found {
		t.Fatal("it is listed at once, which is not what is tried here")
	}
	failed(t, a.TakeAway(t.Context(), pause(list(t, a), one, "192.0.2.3")), provider.Conflict, "survivor")
	failed(t, a.Add(t.Context(), create(list(t, a), www, "192.0.2.3", time.Minute)), provider.Conflict)
	now = now.Add(listLag)
	if got := answerOf(t, a, "192.0.2.3"); !got.Live {
		t.Errorf("after the lag it is listed as %+v", got)
	}
	if n := len(f.Records()); n != 5 {
		t.Errorf("%d records", n)
	}
}

// TestCase75ClockSkewIsToldAsSuch: this machine's clock is six minutes ahead, or
// behind. The error says by how much and that the key is fine, asks for half a
// minute of peace, and everything works again once the clock was set.
func TestCase75ClockSkewIsToldAsSuch(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{})
	seen := list(t, a)
	for skew, way := range map[time.Duration]string{6 * time.Minute: "is ahead of it", -6 * time.Minute: "is behind it"} {
		a.now = func() time.Time { return time.Now().Add(skew) }
		_, err := a.List(t.Context())
		e := failed(t, err, provider.Retryable, "AuthFailure.SignatureExpire", way, "synchronise the clock", "the key is fine")
		if !strings.Contains(err.Error(), "about 360 s") && !strings.Contains(err.Error(), "about 359 s") && !strings.Contains(err.Error(), "about 361 s") {
			t.Errorf("%q does not say by how much", err)
		}
		if e.After < 30*time.Second {
			t.Errorf("asks for %v of peace", e.After)
		}
		before := f.Attributes()
		failed(t, a.TakeAway(t.Context(), pause(seen, one, two)), provider.Retryable, "SignatureExpire")
		failed(t, a.Add(t.Context(), create(seen, www, "192.0.2.3", time.Minute)), provider.Retryable, "SignatureExpire")
		if !slices.Equal(before, f.Attributes()) {
			t.Error("something was written")
		}
		a.now = time.Now
		list(t, a)
	}
}
