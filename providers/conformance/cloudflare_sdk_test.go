package conformance

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/shared"
	"github.com/cloudflare/cloudflare-go/v6/user"
	"github.com/cloudflare/cloudflare-go/v6/zones"

	"sidestep/providers/cloudflare/cloudflaretest"
)

// The vendor's client has a package for each service, and a root that imports
// them all: a gigabyte for the compiler, of which three services are needed
// here. What only the root exports, the makers of fields and the name of the
// error, is reached by reflection instead.

// vendorCloudflare is the vendor's own client, pointed at the fake.
type vendorCloudflare struct {
	records *dns.RecordService
	zones   *zones.ZoneService
	tokens  *user.TokenService
}

func cloudflareSDK(f *cloudflaretest.Fake, options ...option.RequestOption) vendorCloudflare {
	options = append(options, option.WithBaseURL(f.Endpoint()+"/"), option.WithMaxRetries(0))
	return vendorCloudflare{dns.NewRecordService(options...), zones.NewZoneService(options...), user.NewTokenService(options...)}
}

func token(text string) option.RequestOption { return option.WithAPIToken(text) }

// raw is a value of a field that its type would not take.
type raw struct{ value any }

// fields are what a request says, by the names that the client has for it; nil is
// null.
type fields map[string]any

// with makes a request of the vendor's client.
func with[P any](f fields) P {
	var p P
	for name, value := range f {
		field := reflect.ValueOf(&p).Elem().FieldByName(name)
		if field.Kind() == reflect.Interface {
			field.Set(reflect.ValueOf(value))
			continue
		}
		field.FieldByName("Present").SetBool(true)
		switch value := value.(type) {
		case nil:
			field.FieldByName("Null").SetBool(true)
		case raw:
			field.FieldByName("Raw").Set(reflect.ValueOf(value.value))
		default:
			to := field.FieldByName("Value")
			to.Set(reflect.ValueOf(value).Convert(to.Type()))
		}
	}
	return p
}

// plus is fields with some of them changed.
func (f fields) plus(change fields) fields {
	out := fields{}
	for _, from := range []fields{f, change} {
		maps.Copy(out, from)
	}
	return out
}

func newA(name, content string) fields {
	return fields{"Name": name, "Type": "A", "Content": content, "TTL": 300}
}

var decorations = fields{"Comment": "owner: web", "Tags": []dns.RecordTagsParam{"a:b"}, "Proxied": false}

func (c vendorCloudflare) post(t *testing.T, zone string, body dns.RecordNewParamsBodyUnion) (*dns.RecordResponse, error) {
	t.Helper()
	return c.records.New(t.Context(), with[dns.RecordNewParams](fields{"ZoneID": zone, "Body": body}))
}

func (c vendorCloudflare) mustPost(t *testing.T, zone string, body dns.RecordNewParamsBodyUnion) *dns.RecordResponse {
	t.Helper()
	made, err := c.post(t, zone, body)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestCloudflareVendorClient lets the vendor's client do, at the fake, what the
// adapter does and more, and reads back what it did.
func TestCloudflareVendorClient(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{Plan: cloudflaretest.Pro})
	c := cloudflareSDK(f, token(cloudflaretest.DefaultToken))
	zone := findByVendor(t, f, c)
	made := c.mustPost(t, zone, with[dns.ARecordParam](newA("www.example.com", "192.0.2.1").plus(decorations)))
	got, err := c.records.Get(t.Context(), made.ID, with[dns.RecordGetParams](fields{"ZoneID": zone}))
	if err != nil || got.Content != "192.0.2.1" || got.Comment != "owner: web" || got.TTL != 300 || got.CreatedOn.IsZero() {
		t.Errorf("get: %+v, %v", got, err)
	}
	edit := fields{"ZoneID": zone, "Body": with[dns.ARecordParam](fields{"Proxied": true})}
	edited, err := c.records.Edit(t.Context(), made.ID, with[dns.RecordEditParams](edit))
	if err != nil || edited.ID != made.ID || !edited.Proxied || edited.TTL != 1 || edited.Comment != "owner: web" || edited.Content != "192.0.2.1" {
		t.Errorf("edit: %+v, %v", edited, err)
	}
	f.Fill(250)
	count := 0
	pages := c.records.ListAutoPaging(t.Context(), with[dns.RecordListParams](fields{"ZoneID": zone}))
	for pages.Next() {
		count++
	}
	if pages.Err() != nil || count != 251 {
		t.Errorf("the client lists %d records, %v", count, pages.Err())
	}
	batchByVendor(t, f, c, zone, made.ID)
}

// findByVendor finds the zone among more than a page of them.
func findByVendor(t *testing.T, f *cloudflaretest.Fake, c vendorCloudflare) string {
	t.Helper()
	for i := range 45 {
		f.AddZone(string(rune('a'+i%26))+string(rune('a'+i/26))+".example.", "Account Two")
	}
	listed := 0
	for pages := c.zones.ListAutoPaging(t.Context(), zones.ZoneListParams{}); pages.Next(); listed++ {
		if pages.Current().ID == "" || pages.Current().Account.Name == "" {
			t.Errorf("a zone without an id or account: %+v", pages.Current())
		}
	}
	if listed != 46 {
		t.Errorf("the client sees %d zones of 46", listed)
	}
	found, err := c.zones.List(t.Context(), with[zones.ZoneListParams](fields{"Name": "example.com"}))
	if err != nil || len(found.Result) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	zone := found.Result[0].ID
	if got, err := c.zones.Get(t.Context(), with[zones.ZoneGetParams](fields{"ZoneID": zone})); err != nil || got.Name != "example.com" {
		t.Errorf("%+v, %v", got, err)
	}
	return zone
}

// batchByVendor renames a record by its id in one batch with the stamp deleted
// and posted anew, and then tries the same with the stamp that is gone.
func batchByVendor(t *testing.T, f *cloudflaretest.Fake, c vendorCloudflare, zone, id string) {
	t.Helper()
	stamp := func(text string) dns.TXTRecordParam {
		return with[dns.TXTRecordParam](fields{"Name": "_sidestep.example.com", "Type": "TXT", "Content": `"` + text + `"`, "TTL": 60})
	}
	rename := func(to string) []dns.BatchPatchUnionParam {
		p := with[dns.BatchPatchARecordParam](fields{"ID": id})
		p.ARecordParam = with[dns.ARecordParam](fields{"Name": to})
		return []dns.BatchPatchUnionParam{p}
	}
	old := c.mustPost(t, zone, stamp("first"))
	request := fields{
		"ZoneID":  zone,
		"Deletes": []dns.RecordBatchParamsDelete{with[dns.RecordBatchParamsDelete](fields{"ID": old.ID})},
		"Patches": rename("_sidestep-paused.www.example.com"),
		"Posts":   []dns.RecordBatchParamsPostUnion{stamp("second")},
	}
	done, err := c.records.Batch(t.Context(), with[dns.RecordBatchParams](request))
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Deletes) != 1 || len(done.Posts) != 1 || len(done.Patches) != 1 || done.Posts[0].ID == old.ID {
		t.Fatalf("batch: %+v", done)
	}
	if p := done.Patches[0]; p.ID != id || p.Name != "_sidestep-paused.www.example.com" || !p.Proxied || p.Comment != "owner: web" || p.Content != "192.0.2.1" {
		t.Errorf("the renamed record: %+v", p)
	}
	before := f.Attributes()
	request["Posts"], request["Patches"] = []dns.RecordBatchParamsPostUnion{stamp("third")}, rename("www.example.com")
	_, err = c.records.Batch(t.Context(), with[dns.RecordBatchParams](request))
	wantVendorError(t, "a batch with the old stamp", err, http.StatusNotFound, 81044)
	if !slices.Equal(before, f.Attributes()) {
		t.Error("a refused batch changed the zone")
	}
}

// wantVendorError checks that the vendor's client reads a refusal as what it is.
func wantVendorError(t *testing.T, what string, err error, status int, code int64) {
	t.Helper()
	v := reflect.ValueOf(err)
	if err == nil || v.Kind() != reflect.Pointer || !strings.HasSuffix(v.Type().String(), "apierror.Error") {
		t.Errorf("%s: expected an error of the API, got %v", what, err)
		return
	}
	errs, ok := reflect.TypeAssert[[]shared.ErrorData](v.Elem().FieldByName("Errors"))
	if got := v.Elem().FieldByName("StatusCode").Int(); !ok || int(got) != status || len(errs) != 1 || errs[0].Code != code || errs[0].Message == "" {
		t.Errorf("%s: expected %d with code %d, got %d: %+v", what, status, code, got, errs)
	}
}

// TestCloudflareVendorClientReadsEachError raises every error of the fake.
func TestCloudflareVendorClientReadsEachError(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{Quota: 5})
	zone := f.ZoneID()
	good := cloudflareSDK(f, token(cloudflaretest.DefaultToken))
	post := func(body fields) error {
		_, err := good.post(t, zone, with[dns.ARecordParam](body))
		return err
	}
	alias := fields{"Name": "alias", "Type": "CNAME", "Content": "lb.example.net", "TTL": 1}
	good.mustPost(t, zone, with[dns.ARecordParam](newA("www", "192.0.2.1")))
	good.mustPost(t, zone, with[dns.CNAMERecordParam](alias))
	good.mustPost(t, zone, with[dns.NSRecordParam](fields{"Name": "child", "Type": "NS", "Content": "ns.example.net", "TTL": 300}))

	_, err := good.post(t, zone, with[dns.CNAMERecordParam](alias.plus(fields{"Name": "www"})))
	wantVendorError(t, "a CNAME beside an address", err, http.StatusBadRequest, 81053)
	wantVendorError(t, "an address beside a CNAME", post(newA("alias", "192.0.2.1")), http.StatusBadRequest, 81054)
	wantVendorError(t, "an address beside a delegation", post(newA("child", "192.0.2.1")), http.StatusBadRequest, 81056)
	wantVendorError(t, "the same once more", post(newA("www", "192.0.2.1")), http.StatusBadRequest, 81058)
	for what, change := range map[string]fields{
		"tags on a free plan":   decorations,
		"a name that is none":   {"Name": "a..b"},
		"a content for AAAA":    {"Content": "::1"},
		"a TTL that is small":   {"TTL": 30},
		"a type that is none":   {"Type": "XYZ"},
		"no type":               {"Type": nil},
		"a comment that is big": {"Comment": strings.Repeat("x", 200)},
	} {
		wantVendorError(t, what, post(newA("www", "192.0.2.3").plus(change)), http.StatusBadRequest, 1004)
	}
	wantVendorError(t, "a TTL that is a text", post(newA("www", "192.0.2.3").plus(fields{"TTL": raw{"soon"}})), http.StatusBadRequest, 9207)
	good.mustPost(t, zone, with[dns.ARecordParam](newA("www", "192.0.2.4")))
	good.mustPost(t, zone, with[dns.ARecordParam](newA("www", "192.0.2.5")))
	wantVendorError(t, "one more than the quota", post(newA("www", "192.0.2.6")), http.StatusBadRequest, 81045)
	accessErrors(t, f, good, zone)
}

// accessErrors are those of the credential, of the zone and of the rate.
func accessErrors(t *testing.T, f *cloudflaretest.Fake, good vendorCloudflare, zone string) {
	t.Helper()
	const nobody = "0123456789abcdef0123456789abcdef"
	list := func(c vendorCloudflare, zone string) error {
		_, err := c.records.List(t.Context(), with[dns.RecordListParams](fields{"ZoneID": zone}))
		return err
	}
	_, err := good.records.Get(t.Context(), nobody, with[dns.RecordGetParams](fields{"ZoneID": zone}))
	wantVendorError(t, "a record that is not there", err, http.StatusNotFound, 81044)
	wantVendorError(t, "a zone id of the wrong form", list(good, "example.com"), http.StatusNotFound, 7003)
	wantVendorError(t, "a zone of somebody else", list(good, nobody), http.StatusForbidden, 9109)
	wantVendorError(t, "a token of nobody", list(cloudflareSDK(f, token("nobody")), zone), http.StatusForbidden, 9109)
	wantVendorError(t, "a token of the wrong form", list(cloudflareSDK(f, token("two words")), zone), http.StatusBadRequest, 6003)
	wantVendorError(t, "no token", list(cloudflareSDK(f), zone), http.StatusBadRequest, 9106)
	_, err = cloudflareSDK(f, token("nobody")).tokens.Verify(t.Context())
	wantVendorError(t, "verify a token of nobody", err, http.StatusUnauthorized, 1000)
	f.SetToken("reader", cloudflaretest.Token{Status: "active", ReadDNS: true})
	_, err = cloudflareSDK(f, token("reader")).records.Delete(t.Context(), nobody, with[dns.RecordDeleteParams](fields{"ZoneID": zone}))
	wantVendorError(t, "a token that only reads", err, http.StatusForbidden, 10000)
	_, err = good.tokens.Get(t.Context(), nobody)
	wantVendorError(t, "a route that the fake has not", err, http.StatusNotFound, 7000)
	f.Server.Arm(cloudflaretest.IsList, 0, cloudflaretest.Throttled("300"))
	wantVendorError(t, "one request too many", list(good, zone), http.StatusTooManyRequests, 971)
	f.Server.Arm(cloudflaretest.IsList, 0, f.Refusal(http.StatusBadRequest, 81057, "The record already exists."))
	wantVendorError(t, "an error that no rule raises", list(good, zone), http.StatusBadRequest, 81057)
	if verified, err := good.tokens.Verify(t.Context()); err != nil || verified.Status != "active" {
		t.Errorf("verify: %+v, %v", verified, err)
	}
}
