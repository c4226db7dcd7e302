package tencentcloud

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/record"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSettings: what cannot work is refused without a connection, and no secret
// is in the error.
func TestSettings(t *testing.T) {
	good := func() provider.Settings {
		return provider.Settings{Zone: testZone, Options: map[string]string{}, Secrets: map[string]provider.Secret{
			"secret_id": provider.NewSecret("AKIDmarker"), "secret_key": provider.NewSecret("marker"),
		}}
	}
	for edition, host := range map[string]string{"": "https://dnspod.tencentcloudapi.com", "china": "https://dnspod.tencentcloudapi.com", "international": "https://dnspod.intl.tencentcloudapi.com"} {
		s := good()
		s.Options["edition"] = edition
		if a := connect(t, s); "https://"+a.edition.host != host {
			t.Errorf("edition %q is at %s, want %s", edition, a.edition.host, host)
		}
	}
	for _, test := range []struct {
		spoil func(*provider.Settings)
		words string
	}{
		{func(s *provider.Settings) { s.Options["edition"] = "intl" }, "expected china or international"},
		{func(s *provider.Settings) { delete(s.Secrets, "secret_id") }, "secret_id: missing"},
		{func(s *provider.Settings) { delete(s.Secrets, "secret_key") }, "secret_key: missing"},
		{func(s *provider.Settings) { s.Secrets["secret_key"] = provider.NewSecret("marker\n") }, "secret_key: has a blank"},
		{func(s *provider.Settings) { s.Secrets["session_token"] = provider.NewSecret("mar ker") }, "session_token: has a blank"},
		{func(s *provider.Settings) { s.Options["endpoint"] = "http://192.0.2.1" }, "in the clear"},
		{func(s *provider.Settings) { s.Options["endpoint"] = "dnspod.example" }, "expected a URL"},
	} {
		s := good()
		test.spoil(&s)
		_, err := New(s)
		failed(t, err, provider.Permanent, test.words)
		if strings.Contains(err.Error(), "marker") {
			t.Errorf("a secret is in %q", err)
		}
	}
}

// TestErrors goes through what the API answers with: the class for a list and for
// a write, and what a person is told.
func TestErrors(t *testing.T) {
	const permanent, retryable, ambiguous, conflict = provider.Permanent, provider.Retryable, provider.Ambiguous, provider.Conflict
	for _, test := range []struct {
		code        string
		list, write provider.Class
		words       string
	}{
		{"AuthFailure", permanent, permanent, "secret_id and secret_key"},
		{"AuthFailure.SecretIdNotFound", permanent, permanent, "secret_id and secret_key"},
		{"AuthFailure.SignatureFailure", permanent, permanent, "validate --online"},
		{"AuthFailure.TokenFailure", permanent, permanent, "session_token ended"},
		{"AuthFailure.UnauthorizedOperation", permanent, permanent, "QcloudDNSPodFullAccess"},
		{"AuthFailure.SignatureExpire", retryable, retryable, "synchronise the clock"},
		{"UnauthorizedOperation", permanent, permanent, "QcloudDNSPodFullAccess"},
		{"OperationDenied.NoPermissionToOperateDomain", permanent, permanent, "let the key's user"},
		{"FailedOperation.DomainIsLocked", permanent, permanent, "unlock it"},
		{"FailedOperation.DomainIsSpam", permanent, permanent, "console"},
		{"FailedOperation.NotDomainOwner", permanent, permanent, "in the account of this key"},
		{"FailedOperation.AccountIsLocked", permanent, permanent, ""},
		{"FailedOperation.MustAddDefaultLineFirst", permanent, permanent, "default line"},
		{"InvalidParameterValue.DomainNotExists", permanent, permanent, "edition is right"},
		{"InvalidParameter.DomainNotAllowedModifyRecords", permanent, permanent, "console"},
		{"InvalidParameter.RecordIdInvalid", conflict, conflict, "listed again"},
		{"InvalidParameter.DomainRecordExist", conflict, conflict, "listed again"},
		{"InvalidParameter.RecordLineInvalid", permanent, permanent, "correct variant"},
		{"InvalidParameter.SomethingNew", permanent, permanent, ""},
		{"LimitExceeded.SubdomainRollLimit", permanent, permanent, "upgrade the plan"},
		{"LimitExceeded.AAAACountLimit", permanent, permanent, "upgrade the plan"},
		{"LimitExceeded.SubdomainLevelLimit", permanent, permanent, "upgrade the plan"},
		{"LimitExceeded.RecordTtlLimit", permanent, permanent, "larger ttl"},
		{"RequestLimitExceeded", retryable, retryable, "who else uses this key"},
		{"RequestLimitExceeded.RequestLimitExceeded", retryable, retryable, ""},
		{"FailedOperation.FrequencyLimit", retryable, retryable, ""},
		{"InvalidParameter.OperationIsTooFrequent", retryable, retryable, ""},
		{"InvalidParameter.Common", retryable, retryable, ""},
		{"FailedOperation.TemporaryError", retryable, retryable, ""},
		{"InvalidParameter.OperateFailed", retryable, ambiguous, ""},
		{"FailedOperation.UnknowError", retryable, ambiguous, ""},
		{"FailedOperation", retryable, ambiguous, ""},
		{"InternalError", retryable, ambiguous, ""},
		{"InternalError.DbError", retryable, ambiguous, ""},
		{"NeverSeenBefore", retryable, ambiguous, ""},
	} {
		t.Run(test.code, func(t *testing.T) {
			a, f, _ := pair(t, tencentcloudtest.Options{})
			seen, before := list(t, a), f.Attributes()
			f.Server.Arm(tencentcloudtest.Action("DescribeRecordList"), 0, tencentcloudtest.Refusal(test.code))
			s, err := a.List(t.Context())
			failed(t, err, test.list, test.code, test.words, "RequestId")
			if s != nil {
				t.Error("a snapshot came beside the error")
			}
			f.Server.Arm(tencentcloudtest.Writes, 0, tencentcloudtest.Refusal(test.code))
			failed(t, a.TakeAway(t.Context(), pause(seen, one, two)), test.write, test.code, test.words)
			if !slices.Equal(before, f.Attributes()) {
				t.Error("something was written")
			}
		})
	}
}

// TestOtherAccounts: wrong keys, wrong account, wrong domain, against the fake's
// own checks.
func TestOtherAccounts(t *testing.T) {
	f := tencentcloudtest.Start(t, tencentcloudtest.Options{Token: "session"})
	for words, spoil := range map[string]func(*provider.Settings){
		"SignatureFailure": func(s *provider.Settings) {
			s.Secrets["secret_key"], s.Secrets["session_token"] = provider.NewSecret("another"), provider.NewSecret("session")
		},
		"SecretIdNotFound": func(s *provider.Settings) { s.Secrets["secret_id"] = provider.NewSecret("AKIDanother") },
		"TokenFailure":     func(*provider.Settings) {},
		"DomainNotExists": func(s *provider.Settings) {
			s.Zone, s.Secrets["session_token"] = "example.net.", provider.NewSecret("session")
		},
	} {
		s := settings(f)
		spoil(&s)
		a := connect(t, s)
		_, err := a.List(t.Context())
		failed(t, err, provider.Permanent, words)
		_, err = a.Inspect(t.Context())
		failed(t, err, provider.Permanent, words)
		if len(f.History()) != 0 {
			t.Errorf("%s: something was written: %v", words, f.History())
		}
	}
	s := settings(f)
	s.Secrets["session_token"] = provider.NewSecret("session")
	list(t, connect(t, s))
}

// TestListsThatAreNone: answers that are no whole list are errors of a class, and
// never a snapshot.
func TestListsThatAreNone(t *testing.T) {
	answer := func(body string) httpfake.Fault {
		return httpfake.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	}
	counted := func(listed, total int, records string) httpfake.Fault {
		return answer(fmt.Sprintf(`{"Response":{"RequestId":"r","RecordCountInfo":{"SubdomainCount":1,"ListCount":%d,"TotalCount":%d},"RecordList":[%s]}}`, listed, total, records))
	}
	const ns = `{"RecordId":1,"Name":"@","Type":"NS","Value":"a.dnspod.com.","Status":"ENABLE","Line":"默认","LineId":"0","TTL":86400,"DefaultNS":true}`
	for name, test := range map[string]struct {
		fault httpfake.Fault
		class provider.Class
		words string
	}{
		"a page":                   {page(http.StatusOK), provider.Retryable, "HTML page"},
		"a page of 502":            {page(http.StatusBadGateway), provider.Retryable, "HTTP 502"},
		"a page of 403":            {page(http.StatusForbidden), provider.Retryable, "HTML page"},
		"nothing":                  {answer(""), provider.Retryable, "not one of the API"},
		"half of it":               {answer(`{"Response":{"RequestId":"r","RecordList":[{"Reco`), provider.Retryable, "not one of the API"},
		"other JSON":               {answer(`{"status":"ok"}`), provider.Retryable, "no RequestId"},
		"a list instead":           {answer(`[1,2]`), provider.Retryable, "not one of the API"},
		"null":                     {answer(`{"Response":null}`), provider.Retryable, "no RequestId"},
		"no counts":                {answer(`{"Response":{"RequestId":"r","RecordList":[` + ns + `]}}`), provider.Retryable, "how many"},
		"empty":                    {counted(0, 0, ""), provider.Retryable, "at least its name servers"},
		"empty, though there are":  {counted(0, 4, ""), provider.Retryable, "expected 4 records, got 0"},
		"fewer than the page says": {counted(2, 2, ns), provider.Retryable, "expected 2 records on the page, got 1"},
		"more than there are":      {counted(1, 0, ns), provider.Retryable, "changed while"},
		"a redirect":               {httpfake.Fault{Status: http.StatusFound, Header: http.Header{"Location": {"https://elsewhere.example/"}}}, provider.Permanent, "redirect"},
		"too many requests":        {httpfake.Fault{Status: http.StatusTooManyRequests, Body: "slow down"}, provider.Retryable, "too many"},
		"an error with status 500": {httpfake.Fault{Status: http.StatusInternalServerError, Body: tencentcloudtest.Refusal("InternalError").Body}, provider.Retryable, "InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			a, f, _ := pair(t, tencentcloudtest.Options{})
			list(t, a)
			for range listAttempts {
				f.Server.Arm(tencentcloudtest.Action("DescribeRecordList"), 0, test.fault)
			}
			s, err := a.List(t.Context())
			failed(t, err, test.class, test.words)
			if s != nil {
				t.Error("a snapshot came beside the error")
			}
		})
	}
}

// TestListMovesBetweenPages: a record appears or goes between two pages. The list
// is made anew and is whole.
func TestListMovesBetweenPages(t *testing.T) {
	for name, move := range map[string]func(*tencentcloudtest.Fake, uint64){
		"one more": func(f *tencentcloudtest.Fake, _ uint64) {
			f.Insert(tencentcloudtest.Record{Name: "a", Type: "A", Value: one, TTL: 600})
		},
		"one less": func(f *tencentcloudtest.Fake, id uint64) { f.Delete(id) },
		"one goes, one comes": func(f *tencentcloudtest.Fake, id uint64) {
			f.Delete(id)
			f.Insert(tencentcloudtest.Record{Name: "zz", Type: "A", Value: one, TTL: 600})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, f := world(t, tencentcloudtest.Options{})
			var first uint64
			for i := range maxPage + 10 {
				id := f.Insert(tencentcloudtest.Record{Name: fmt.Sprintf("n%05d", i), Type: "A", Value: one, TTL: 600})
				if i == 0 {
					first = id
				}
			}
			moved := false
			second := tencentcloudtest.Action("DescribeRecordList")
			f.Server.Arm(func(r *http.Request, body []byte) bool {
				if second(r, body) && strings.Contains(string(body), `"Offset":2999`) && !moved {
					moved = true
					move(f, first)
				}
				return false
			}, 0, httpfake.Fault{})
			s := list(t, a)
			if want := len(f.Records()); s.Records != want || len(s.Sets) != want-2 {
				t.Errorf("listed %d records and %d sets, the zone has %d", s.Records, len(s.Sets), want)
			}
			for _, r := range f.Records() {
				if r.Type == "A" && len(s.Set(key(r.Name, record.A)).Live()) != 1 {
					t.Errorf("%s is not listed", r.Name)
				}
			}
			if !moved {
				t.Error("nothing moved")
			}
		})
	}
}

// TestMalformedRecords: records of another shape than the vendor's, or that no
// config could name, are told and hide no other.
func TestMalformedRecords(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{})
	good := `{"RecordId":5,"Name":"www","Type":"A","Value":"192.0.2.1","Status":"ENABLE","Line":"默认","LineId":"0","TTL":600,"Weight":null,"Remark":null,"MX":0}`
	bad := []string{
		`{"RecordId":"six","Name":"www","Type":"A","Value":"192.0.2.6","Status":"ENABLE","LineId":"0","TTL":600}`,
		`{"RecordId":7,"Name":["www"],"Type":"A","Value":"192.0.2.7","Status":"ENABLE","LineId":"0","TTL":600}`,
		`{"RecordId":8,"Name":"www","Type":"A","Value":"192.0.2.8","Status":"ENABLE","LineId":"0","TTL":-1}`,
		`{"RecordId":9,"Name":"a..b","Type":"A","Value":"192.0.2.9","Status":"ENABLE","LineId":"0","TTL":600}`,
		`{"RecordId":10,"Name":"www","Type":"A","Value":"300.1.1.1","Status":"ENABLE","LineId":"0","TTL":600}`,
		`{"RecordId":11,"Name":"_sidestep-paused.www","Type":"TXT","Value":"v=sidestep1 type=A","Status":"ENABLE","LineId":"0","TTL":600}`,
		`null`, `17`,
	}
	f.Server.Arm(tencentcloudtest.Action("DescribeRecordList"), 0, httpfake.Fault{Status: http.StatusOK, Body: fmt.Sprintf(
		`{"Response":{"RequestId":"r","RecordCountInfo":{"ListCount":%d,"TotalCount":%d},"RecordList":[%s,%s]}}`, len(bad)+1, len(bad)+1, good, strings.Join(bad, ","))})
	s := list(t, a)
	if live := s.Set(www).Live(); !slices.Equal(live, []string{one}) || s.Records != len(bad)+1 {
		t.Errorf("live %v of %d records", live, s.Records)
	}
	if len(s.Skipped) != len(bad)-1 { // null is a record without anything, of no type
		t.Errorf("%d of %d are told:\n%s", len(s.Skipped), len(bad), strings.Join(s.Skipped, "\n"))
	}
}

// TestUnknownStatus: a record in a state that the vendor does not tell of is not
// ours to bring back.
func TestUnknownStatus(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{})
	f.Server.Arm(tencentcloudtest.Action("DescribeRecordList"), 0, httpfake.Fault{Status: http.StatusOK, Body: `{"Response":{"RequestId":"r",` +
		`"RecordCountInfo":{"ListCount":1,"TotalCount":1},"RecordList":[{"RecordId":5,"Name":"www","Type":"A","Value":"192.0.2.1","Status":"SPAM","Line":"默认","LineId":"0","TTL":600}]}}`})
	if got := answerOf(t, a, one); got.Live || got.Paused || !got.Held {
		t.Errorf("listed as %+v", got)
	}
}

// TestSecretsStayOut: an API that repeats the key in its message does not bring it
// into an error.
func TestSecretsStayOut(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{})
	f.Server.Arm(tencentcloudtest.Action("DescribeRecordList"), 0, httpfake.Fault{Status: http.StatusOK, Body: fmt.Sprintf(
		`{"Response":{"RequestId":"r","Error":{"Code":"AuthFailure","Message":"no\nuser %s with %s"}}}`, tencentcloudtest.SecretID, tencentcloudtest.SecretKey)})
	_, err := a.List(t.Context())
	failed(t, err, provider.Permanent, "no user *** with ***")
}

// TestRefusedCalls: calls that no caller should make are refused before anything
// is sent.
func TestRefusedCalls(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{})
	seen := list(t, a)
	change := func(action record.Action, value string) record.Change {
		return record.Change{Action: action, Key: www, Value: value, TTL: 10 * time.Minute, Weight: 1}
	}
	f.Server.Forget()
	for name, call := range map[string]provider.Call{
		"no list":             {Key: www, Add: []record.Change{change(record.Create, "192.0.2.3")}},
		"a list of another":   {Key: www, Seen: &provider.Snapshot{Zone: testZone}, Add: []record.Change{change(record.Create, "192.0.2.3")}},
		"another zone":        {Key: record.Key{Zone: "example.net.", Name: "www.example.net.", Type: record.A}, Seen: seen, Add: []record.Change{change(record.Create, "192.0.2.3")}},
		"a TXT":               {Key: key("www", record.TXT), Seen: seen, Add: []record.Change{change(record.Create, "text")}},
		"no address":          {Key: www, Seen: seen, Add: []record.Change{change(record.Create, "www")}},
		"a take-away as add":  {Key: www, Seen: seen, Add: []record.Change{change(record.Pause, one)}},
		"a huge weight":       {Key: www, Seen: seen, Add: []record.Change{{Action: record.Create, Key: www, Value: "192.0.2.3", TTL: time.Minute, Weight: 101}}},
		"two take-aways":      {Key: www, Seen: seen, Away: []record.Change{change(record.Pause, one), change(record.Pause, two)}},
		"an add as take-away": {Key: www, Seen: seen, Away: []record.Change{change(record.Create, "192.0.2.3")}},
		"a swap of an A":      {Key: www, Seen: seen, Away: []record.Change{{Action: record.Swap, Key: www, From: one, Value: "192.0.2.3"}}},
		"weight 0":            {Key: www, Seen: seen, Away: []record.Change{{Action: record.SetWeight, Key: www, Value: one}}},
	} {
		write := a.Add
		if len(call.Away) > 0 {
			write = a.TakeAway
		}
		t.Run(name, func(t *testing.T) { failed(t, write(t.Context(), call), provider.Permanent) })
	}
	if calls := f.Calls(); len(calls) > 0 {
		t.Errorf("calls were made: %v", calls)
	}
}
