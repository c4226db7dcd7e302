package route53

import (
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

// TestReaderAgreesWithTheSDK: our reader of pages finds in them what the SDK's
// own does, whatever attributes there are.
func TestReaderAgreesWithTheSDK(t *testing.T) {
	a, _, h := start(t, route53test.Options{})
	put(h, key("www", record.A), one, two)
	const values = `<TTL>0</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords>`
	for id, attributes := range map[string]string{
		"w": `<Weight>255</Weight>`, "l": `<Region>eu-west-1</Region>`, "f": `<Failover>PRIMARY</Failover>`, "m": `<MultiValueAnswer>true</MultiValueAnswer>`,
		"g": `<GeoLocation><ContinentCode>EU</ContinentCode></GeoLocation>`, "h": `<GeoLocation><CountryCode>US</CountryCode><SubdivisionCode>CA</SubdivisionCode></GeoLocation>`,
		"c": `<CidrRoutingConfig><CollectionId>c-1</CollectionId><LocationName>here</LocationName></CidrRoutingConfig>`,
		"p": `<GeoProximityLocation><Coordinates><Latitude>1.00</Latitude><Longitude>-2.00</Longitude></Coordinates><Bias>-9</Bias></GeoProximityLocation>`,
		"q": `<GeoProximityLocation><LocalZoneGroup>us-east-1-bue-1</LocalZoneGroup></GeoProximityLocation>`, "r": `<GeoProximityLocation><AWSRegion>us-west-2</AWSRegion></GeoProximityLocation>`,
	} {
		h.PutSet(`<Name>` + id + `.example.com</Name><Type>A</Type><SetIdentifier>&lt;&amp;&gt;"'&#233;&#x20;` + id + `</SetIdentifier>` + attributes + values + `<HealthCheckId>hc</HealthCheckId>`)
	}
	h.PutSet(`<Name>alias.example.com</Name><Type>AAAA</Type><AliasTarget><HostedZoneId>Z1</HostedZoneId><DNSName>lb.</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth></AliasTarget>`)
	h.PutSet(`<Name>*.policy.example.com</Name><Type>A</Type><TrafficPolicyInstanceId>tp-1</TrafficPolicyInstanceId>` + values)
	h.PutSet(`<Name>text.example.com</Name><Type>TXT</Type><TTL>5</TTL><ResourceRecords><ResourceRecord><Value>"a &amp; \"b\" \\ \303\251" ""</Value></ResourceRecord></ResourceRecords>`)
	for _, limit := range []int32{1, 7, 300} {
		input := &sdk.ListResourceRecordSetsInput{HostedZoneId: aws.String(route53test.ZoneID), MaxItems: &limit}
		ours, err := a.page(t.Context(), "list", input)
		if err != nil {
			t.Fatal(err)
		}
		way, err := a.reach()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := way.api.ListResourceRecordSets(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(theirs, ours, cmpopts.IgnoreFields(sdk.ListResourceRecordSetsOutput{}, "ResultMetadata"), cmpopts.IgnoreUnexported(sdk.ListResourceRecordSetsOutput{}, rrset{}, types.ResourceRecord{}, types.AliasTarget{}, types.GeoLocation{}, types.CidrRoutingConfig{}, types.GeoProximityLocation{}, types.Coordinates{})); diff != "" {
			t.Errorf("theirs -, ours +\n%s", diff)
		}
	}
}

// TestReaderRefuses what is not a whole document of the API.
func TestReaderRefuses(t *testing.T) {
	const root = "ListResourceRecordSetsResponse"
	good := "<" + root + "><ResourceRecordSets><ResourceRecordSet a='1'><Name>x</Name><!-- > --><TTL>1</TTL><Other><b/><c>t</c></Other></ResourceRecordSet></ResourceRecordSets><MaxItems>1</MaxItems></" + root + ">"
	if out, err := readPage([]byte(good)); err != nil || len(out.ResourceRecordSets) != 1 || *out.ResourceRecordSets[0].TTL != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	for i := range len(good) {
		if out, err := readPage([]byte(good[:i])); err == nil {
			t.Errorf("cut at %d: %+v", i, out)
		}
	}
	for name, text := range map[string]string{
		"another end":   "<" + root + "><MaxItems>1</Max></" + root + ">",
		"another root":  "<html></html>",
		"no number":     "<" + root + "><MaxItems>many</MaxItems></" + root + ">",
		"no boolean":    "<" + root + "><IsTruncated>yes</IsTruncated></" + root + ">",
		"a reference":   "<" + root + "><NextRecordName>&nbsp;</NextRecordName></" + root + ">",
		"open end":      "<" + root + "><NextRecordName>&amp</NextRecordName></" + root + ">",
		"a declaration": "<!DOCTYPE x [<!ENTITY a 'b'>]><" + root + "></" + root + ">",
		"no set":        "<" + root + "><ResourceRecordSets><Set></Set></ResourceRecordSets></" + root + ">",
		"deep":          "<" + root + ">" + strings.Repeat("<a>", 1_000_000),
		"nothing":       "", "no name": "<>", "an element": "<" + root + "><MaxItems><b/></MaxItems></" + root + ">",
	} {
		if out, err := readPage([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestLargeZoneIsSmall: a list of 100,000 sets leaves less than 100 MB behind.
func TestLargeZoneIsSmall(t *testing.T) {
	a := offline(t, large(100_000))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	s, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const limit = 100 << 20
	if used := heap() - before; used > limit {
		t.Errorf("%d MB for %d sets", used>>20, len(s.Sets))
	} else {
		t.Logf("%d MB for %d sets", used>>20, len(s.Sets))
	}
	runtime.KeepAlive(s)
}
