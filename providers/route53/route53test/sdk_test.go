package route53test_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"

	"sidestep/providers/route53/route53test"
)

// client is the vendor's SDK at a fake, with its own readers and its own check
// of what it sends.
func client(t *testing.T, f *route53test.Fake, key string) *sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sdk.New(sdk.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(key, route53test.SecretKey, ""),
		BaseEndpoint: aws.String(f.Server.URL), RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: transport},
	})
}

func a(name, value string) types.ResourceRecordSet {
	return types.ResourceRecordSet{Name: aws.String(name), Type: types.RRTypeA, TTL: aws.Int64(60), ResourceRecords: []types.ResourceRecord{{Value: aws.String(value)}}}
}

func with(s types.ResourceRecordSet, change func(*types.ResourceRecordSet)) types.ResourceRecordSet {
	change(&s)
	return s
}

func weighted(s types.ResourceRecordSet, id string, weight int64) types.ResourceRecordSet {
	s.SetIdentifier, s.Weight = aws.String(id), aws.Int64(weight)
	return s
}

func send(t *testing.T, c *sdk.Client, changes ...types.Change) (*sdk.ChangeResourceRecordSetsOutput, error) {
	t.Helper()
	return c.ChangeResourceRecordSets(t.Context(), &sdk.ChangeResourceRecordSetsInput{HostedZoneId: aws.String(route53test.ZoneID), ChangeBatch: &types.ChangeBatch{Changes: changes}})
}

func line(action types.ChangeAction, s types.ResourceRecordSet) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &s}
}

const (
	create = types.ChangeActionCreate
	remove = types.ChangeActionDelete
	upsert = types.ChangeActionUpsert
)

// TestSDKReadsAndWrites drives every resource that the fake has.
func TestSDKReadsAndWrites(t *testing.T) {
	f := route53test.Start(t, route53test.Options{Pending: 1, PageSize: 2})
	f.AddZone("example.com.", "ZPRIVATE", true)
	c := client(t, f, route53test.AccessKey)
	out, err := send(t, c, line(create, a("www.example.com", "192.0.2.1")), line(create, a("*.example.com", "192.0.2.2")), line(upsert, weighted(a("w.example.com", "192.0.2.3"), "one", 1)))
	if err != nil || out.ChangeInfo.Status != types.ChangeStatusPending {
		t.Fatalf("%+v, %v", out, err)
	}
	waiter := sdk.NewResourceRecordSetsChangedWaiter(c, func(o *sdk.ResourceRecordSetsChangedWaiterOptions) {
		o.MinDelay, o.MaxDelay = time.Millisecond, time.Millisecond
	})
	if err := waiter.Wait(t.Context(), &sdk.GetChangeInput{Id: out.ChangeInfo.Id}, time.Minute); err != nil {
		t.Error(err)
	}
	pages := sdk.NewListResourceRecordSetsPaginator(c, &sdk.ListResourceRecordSetsInput{HostedZoneId: aws.String(route53test.ZoneID)})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.ResourceRecordSets {
			names = append(names, string(s.Type)+" "+*s.Name)
		}
	}
	if want := []string{"NS example.com.", "SOA example.com.", `A \052.example.com.`, "A w.example.com.", "A www.example.com."}; !slices.Equal(names, want) {
		t.Errorf("listed %q, want %q", names, want)
	}
	zone, err := c.GetHostedZone(t.Context(), &sdk.GetHostedZoneInput{Id: aws.String("ZPRIVATE")})
	if err != nil || !zone.HostedZone.Config.PrivateZone || *zone.HostedZone.ResourceRecordSetCount != 2 || len(zone.VPCs) != 1 {
		t.Errorf("%+v, %v", zone, err)
	}
	first, err := c.ListHostedZonesByName(t.Context(), &sdk.ListHostedZonesByNameInput{DNSName: aws.String("example.com"), MaxItems: aws.Int32(1)})
	if err != nil || len(first.HostedZones) != 1 || !first.IsTruncated || first.NextHostedZoneId == nil {
		t.Errorf("%+v, %v", first, err)
	}
}

// TestSDKMeetsEachError: what AWS refuses, the fake refuses, by a code and words
// that the SDK reads, and nothing of the batch is applied.
func TestSDKMeetsEachError(t *testing.T) {
	www, mx := a("www.example.com.", "192.0.2.1"), with(a("m.example.com.", "10 mail.example.net."), func(s *types.ResourceRecordSet) { s.Type = types.RRTypeMx })
	cname := func(name string) types.ResourceRecordSet {
		return with(a(name, "lb.example.net."), func(s *types.ResourceRecordSet) { s.Type = types.RRTypeCname })
	}
	many := with(a("many.example.com.", "x"), func(s *types.ResourceRecordSet) {
		s.ResourceRecords = nil
		for range 1001 {
			s.ResourceRecords = append(s.ResourceRecords, types.ResourceRecord{Value: aws.String("192.0.2.1")})
		}
	})
	long := with(a("long.example.com.", `"`+strings.Repeat("a", 256)+`"`), func(s *types.ResourceRecordSet) { s.Type = types.RRTypeTxt })
	for name, c := range map[string]struct {
		code, words string
		changes     []types.Change
	}{
		"exists":           {"InvalidChangeBatch", "Tried to create resource record set [name='www.example.com.', type='A'] but it already exists", []types.Change{line(create, www)}},
		"not found":        {"InvalidChangeBatch", "Tried to delete resource record set [name='no.example.com.', type='A'] but it was not found", []types.Change{line(remove, a("no.example.com", "192.0.2.1"))}},
		"other value":      {"InvalidChangeBatch", "values provided do not match", []types.Change{line(remove, a("www.example.com", "192.0.2.9"))}},
		"other TTL":        {"InvalidChangeBatch", "values provided do not match", []types.Change{line(remove, with(www, func(s *types.ResourceRecordSet) { s.TTL = aws.Int64(61) }))}},
		"other attribute":  {"InvalidChangeBatch", "values provided do not match", []types.Change{line(remove, weighted(a("w.example.com.", "192.0.2.3"), "one", 2))}},
		"other identifier": {"InvalidChangeBatch", "set identifier='two'] but it was not found", []types.Change{line(remove, weighted(a("w.example.com.", "192.0.2.3"), "two", 1))}},
		"beside weighted":  {"InvalidChangeBatch", "other RRSets exist with the same name and type", []types.Change{line(create, a("w.example.com.", "192.0.2.3"))}},
		"beside simple":    {"InvalidChangeBatch", "other RRSets exist with the same name and type", []types.Change{line(create, weighted(www, "one", 1))}},
		"other policy": {"InvalidChangeBatch", "cannot be created because", []types.Change{line(create, with(a("w.example.com.", "192.0.2.4"), func(s *types.ResourceRecordSet) {
			s.SetIdentifier, s.Region = aws.String("two"), types.ResourceRecordSetRegionEuWest1
		}))}},
		"same identifier": {"InvalidChangeBatch", "already exists", []types.Change{line(create, weighted(a("w.example.com.", "192.0.2.4"), "one", 9))}},
		"no identifier":   {"InvalidInput", "Missing field 'SetIdentifier'", []types.Change{line(create, with(www, func(s *types.ResourceRecordSet) { s.Weight = aws.Int64(1) }))}},
		"no policy":       {"InvalidInput", "found none", []types.Change{line(create, with(www, func(s *types.ResourceRecordSet) { s.SetIdentifier = aws.String("x") }))}},
		"weight 256":      {"InvalidInput", "less than or equal to 255", []types.Change{line(create, weighted(www, "x", 256))}},
		"no TTL":          {"InvalidInput", "Missing field 'TTL'", []types.Change{line(create, with(www, func(s *types.ResourceRecordSet) { s.TTL = nil }))}},
		"no values":       {"InvalidInput", "found none", []types.Change{line(create, with(www, func(s *types.ResourceRecordSet) { s.ResourceRecords = nil }))}},
		"CNAME beside MX": {"InvalidChangeBatch", "conflicts with other records", []types.Change{line(create, cname("m.example.com."))}},
		"CNAME at apex":   {"InvalidChangeBatch", "apex", []types.Change{line(create, cname("example.com."))}},
		"other zone":      {"InvalidChangeBatch", "is not permitted in zone example.com.", []types.Change{line(create, a("www.example.org.", "192.0.2.1"))}},
		"no address":      {"InvalidChangeBatch", "not a valid IPv4 address", []types.Change{line(create, a("x.example.com.", "nonsense"))}},
		"long string":     {"InvalidChangeBatch", "CharacterStringTooLong", []types.Change{line(create, long)}},
		"too many":        {"InvalidChangeBatch", "1000", []types.Change{line(create, many)}},
		"SOA":             {"InvalidChangeBatch", "SOA", []types.Change{line(remove, soa())}},
		"twice":           {"InvalidChangeBatch", "invalid set of changes", []types.Change{line(create, a("x.example.com.", "192.0.2.1")), line(create, a("x.example.com.", "192.0.2.2"))}},
		"half":            {"InvalidChangeBatch", "already exists", []types.Change{line(create, a("x.example.com.", "192.0.2.1")), line(create, www)}},
	} {
		for _, messages := range []bool{false, true} {
			f := route53test.Start(t, route53test.Options{Messages: messages})
			sdkClient := client(t, f, route53test.AccessKey)
			if _, err := send(t, sdkClient, line(create, www), line(create, mx), line(create, weighted(a("w.example.com.", "192.0.2.3"), "one", 1))); err != nil {
				t.Fatal(err)
			}
			before := f.Attributes()
			_, err := send(t, sdkClient, c.changes...)
			var api smithy.APIError
			if !errors.As(err, &api) || api.ErrorCode() != c.code || !strings.Contains(all(err), c.words) {
				t.Errorf("%s: expected %s %q, got %v: %s", name, c.code, c.words, err, all(err))
			}
			if !slices.Equal(before, f.Attributes()) {
				t.Errorf("%s: something was applied", name)
			}
		}
	}
}

func soa() types.ResourceRecordSet {
	return types.ResourceRecordSet{Name: aws.String("example.com."), Type: types.RRTypeSoa, TTL: aws.Int64(900), ResourceRecords: []types.ResourceRecord{{Value: aws.String("ns-1.awsdns-01.com. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400")}}}
}

// all is an error with the messages that the SDK keeps apart.
func all(err error) string {
	if batch, ok := errors.AsType[*types.InvalidChangeBatch](err); ok {
		return err.Error() + strings.Join(batch.Messages, "; ")
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestSDKMeetsRefusals: who is not let in, what is not there, and the faults
// that a test can arm.
func TestSDKMeetsRefusals(t *testing.T) {
	f := route53test.Start(t, route53test.Options{})
	c := client(t, f, route53test.AccessKey)
	code := func(err error) string {
		var api smithy.APIError
		if !errors.As(err, &api) {
			return ""
		}
		return api.ErrorCode()
	}
	list := func(c *sdk.Client, id string) error {
		_, err := c.ListResourceRecordSets(t.Context(), &sdk.ListResourceRecordSetsInput{HostedZoneId: aws.String(id)})
		return err
	}
	if got := code(list(client(t, f, "AKIANOBODY"), route53test.ZoneID)); got != "InvalidClientTokenId" {
		t.Errorf("another key: %q", got)
	}
	var gone *types.NoSuchHostedZone
	if err := list(c, "Z0NOTHERE"); !errors.As(err, &gone) {
		t.Errorf("another zone: %v", err)
	}
	var change *types.NoSuchChange
	if _, err := c.GetChange(t.Context(), &sdk.GetChangeInput{Id: aws.String("C99")}); !errors.As(err, &change) {
		t.Errorf("another change: %v", err)
	}
	for _, name := range []string{"Throttling", "PriorRequestNotComplete", "AccessDenied", "ExpiredToken", "InternalFailure"} {
		f.Server.Arm(route53test.Reads, 0, route53test.Refuse(400, name, "armed"))
		if got := code(list(c, route53test.ZoneID)); got != name {
			t.Errorf("%s: %q", name, got)
		}
		f.Server.Arm(route53test.Writes, 0, route53test.Refuse(400, name, "armed"))
		if _, err := send(t, c, line(create, a("x.example.com.", "192.0.2.1"))); code(err) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	skewed := route53test.Start(t, route53test.Options{Ahead: time.Hour})
	if got := code(list(client(t, skewed, route53test.AccessKey), route53test.ZoneID)); got != "SignatureDoesNotMatch" {
		t.Errorf("a clock that is an hour off: %q", got)
	}
	response, err := http.Get(f.Server.URL + "/2013-04-01/hostedzone/" + route53test.ZoneID)
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature: %v, %v", response, err)
	}
	_ = response.Body.Close()
}
