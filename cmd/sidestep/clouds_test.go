package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/providers/cloudflare/cloudflaretest"
	"sidestep/providers/powerdns/powerdnstest"
	"sidestep/providers/route53/route53test"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

var hostedProviders = []hosted{
	{
		name: "cloudflare", start: startCloudflare, kind: cloudflareKind,
		promise: "list write write list",
		revoked: cloudflareError(http.StatusForbidden, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[],"result":null}`),
	},
	{
		name: "route53", start: startRoute53, kind: route53Kind,
		promise: "zone list write zone list",
		revoked: route53test.Refuse(http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid."),
	},
	{
		name: "tencentcloud", start: startTencent, kind: tencentKind,
		promise: "flip mark mark flip", free: []string{"list", "look"},
		tidy:    withoutUnusedMarks,
		revoked: tencentcloudtest.Refusal("AuthFailure.SecretIdNotFound"),
	},
	{
		name: "powerdns", start: startPowerDNS, kind: powerDNSKind,
		promise: "list list write list", // read once more just before it is written
		revoked: httpfake.Fault{Status: http.StatusUnauthorized, Body: "Unauthorized"},
	},
}

// others are records of ordinary kinds that are nobody's business. At the name of
// the answers there is another type.
var others = []providertest.RR{
	{Name: "example.com.", Type: "MX", TTL: time.Hour, Data: "10 mx.example.net."},
	{Name: "example.com.", Type: "TXT", TTL: time.Hour, Data: `"v=spf1 -all"`},
	{Name: "_acme-challenge.example.com.", Type: "TXT", TTL: 10 * time.Minute, Data: `"gfj9Xq-first"`},
	{Name: "_acme-challenge.example.com.", Type: "TXT", TTL: 10 * time.Minute, Data: `"gfj9Xq-second"`},
	{Name: "_acme-challenge.www.example.com.", Type: "TXT", TTL: 10 * time.Minute, Data: `"gfj9Xq-below"`},
	{Name: "www.example.com.", Type: "AAAA", TTL: 10 * time.Minute, Data: "2001:db8::80"},
	{Name: "mail.example.com.", Type: "A", TTL: 10 * time.Minute, Data: "192.0.2.25"},
	{Name: "_sip._tcp.example.com.", Type: "SRV", TTL: 10 * time.Minute, Data: "10 5 5060 sip1.example.com."},
	{Name: "_sip._tcp.example.com.", Type: "SRV", TTL: 10 * time.Minute, Data: "10 5 5060 sip2.example.com."},
	{Name: "docs.example.com.", Type: "CNAME", TTL: 10 * time.Minute, Data: "docs.example.net."},
}

func putOthers(hand providertest.Hand) {
	for _, rr := range others {
		hand.Put(rr)
	}
}

// startCloudflare has answers that differ in all that a record can have beside
// its address, and a proxied name that is none of them.
func startCloudflare(t *testing.T, live ...string) *cloud {
	t.Helper()
	f := cloudflaretest.Start(t, cloudflaretest.Options{Plan: cloudflaretest.Pro})
	for i, value := range live {
		r := cloudflaretest.Record{Name: "www.example.com", Type: "A", Content: value, TTL: 1, Proxied: true, Comment: "web 1, ask Ann first", Tags: []string{"team:web", "tier:1"}}
		if i > 0 {
			r = cloudflaretest.Record{Name: "www.example.com", Type: "A", Content: value, TTL: 120, Comment: "web 2", Settings: `{"ipv4_only":true}`}
		}
		f.Put(t, r)
	}
	hand := f.Hand(t, nil)
	putOthers(hand)
	f.Put(t, cloudflaretest.Record{Name: "shop.example.com", Type: "CNAME", Content: "shop.example.net", TTL: 1, Proxied: true, Comment: "of the shop", Settings: `{"flatten_cname":true}`})
	return &cloud{url: f.Server.URL, keys: f.Keys(), hand: hand, attributes: f.Attributes, history: f.History}
}

func cloudflareKind(r httpfake.Request) string {
	switch {
	case strings.HasSuffix(r.Path, "/dns_records/batch"):
		return "write"
	case strings.HasSuffix(r.Path, "/dns_records"):
		return "list"
	case strings.HasSuffix(r.Path, "/zones"):
		return "zone"
	}
	return r.Method + " " + r.Path
}

func cloudflareError(status int, body string) httpfake.Fault {
	return httpfake.Fault{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// startRoute53 has sets of every policy, and aliases, one of them at the name of
// the answers.
func startRoute53(t *testing.T, live ...string) *cloud {
	t.Helper()
	f := route53test.Start(t, route53test.Options{})
	hand := f.Hand(nil)
	for _, value := range live {
		hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 2 * time.Minute, Data: value})
	}
	putOthers(hand)
	alias := `<AliasTarget><HostedZoneId>Z2FDTNDATAQYW2</HostedZoneId><DNSName>d1.cloudfront.net.</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth></AliasTarget>`
	record := func(value string) string {
		return `<TTL>60</TTL><ResourceRecords><ResourceRecord><Value>` + value + `</Value></ResourceRecord></ResourceRecords>`
	}
	for _, content := range []string{
		`<Name>shop.example.com.</Name><Type>A</Type>` + alias,
		`<Name>w.example.com.</Name><Type>A</Type><SetIdentifier>blue</SetIdentifier><Weight>90</Weight>` + record("192.0.2.61") + `<HealthCheckId>hc-1</HealthCheckId>`,
		`<Name>w.example.com.</Name><Type>A</Type><SetIdentifier>green</SetIdentifier><Weight>10</Weight>` + record("192.0.2.62"),
		`<Name>f.example.com.</Name><Type>A</Type><SetIdentifier>one</SetIdentifier><Failover>PRIMARY</Failover>` + record("192.0.2.63") + `<HealthCheckId>hc-2</HealthCheckId>`,
		`<Name>f.example.com.</Name><Type>A</Type><SetIdentifier>two</SetIdentifier><Failover>SECONDARY</Failover>` + record("192.0.2.64"),
		`<Name>g.example.com.</Name><Type>A</Type><SetIdentifier>de</SetIdentifier><GeoLocation><CountryCode>DE</CountryCode></GeoLocation>` + record("192.0.2.65"),
	} {
		hand.PutSet(content)
	}
	return &cloud{url: f.Server.URL, keys: f.Keys(), hand: hand, attributes: f.Attributes, history: f.History}
}

func route53Kind(r httpfake.Request) string {
	path := strings.TrimSuffix(r.Path, "/")
	switch {
	case strings.HasSuffix(path, "/rrset") && r.Method == http.MethodPost:
		return "write"
	case strings.HasSuffix(path, "/rrset"):
		return "list"
	case strings.HasSuffix(path, "/hostedzonesbyname"):
		return "find"
	case strings.Contains(path, "/hostedzone/"):
		return "zone"
	case strings.Contains(path, "/change/"):
		return "change"
	}
	return r.Method + " " + r.Path
}

func tencentKind(r httpfake.Request) string {
	switch action := r.Header.Get("X-TC-Action"); action {
	case "DescribeRecordList":
		return "list"
	case "DescribeRecord":
		return "look"
	case "ModifyRecordStatus":
		return "flip"
	case "ModifyRecordRemark":
		return "mark"
	default:
		return action
	}
}

// unusedMark is a mark on a record that is live: of a pause that was not sent, or
// of one that is over. The next pause renews it, and release takes it off.
var unusedMark = regexp.MustCompile(`(?m)^(.* ENABLE remark=".*?) ?\[sidestep TIME\]"$`)

func withoutUnusedMarks(zone string) string { return unusedMark.ReplaceAllString(zone, `$1"`) }

// startTencent has answers with remarks of their own, another line of the same
// name with weights, and a record that a person paused. Lists lag behind what is
// created.
func startTencent(t *testing.T, live ...string) *cloud {
	t.Helper()
	f := tencentcloudtest.Start(t, tencentcloudtest.Options{Lag: 100 * time.Millisecond})
	weight := uint32(3)
	for i, value := range live {
		r := tencentcloudtest.Record{Name: "www", Type: "A", Value: value, TTL: 600, Remark: "web 1, ask Ann first", Monitor: "Ok"}
		if i > 0 {
			r.TTL, r.Remark = 300, ""
		}
		f.Insert(r)
	}
	hand := f.Hand(t, nil)
	putOthers(hand)
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: "192.0.2.71", Line: "10=0", TTL: 600, Remark: "telecom", Weight: &weight})
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: "192.0.2.72", Line: "10=0", TTL: 600, Weight: &weight})
	f.Insert(tencentcloudtest.Record{Name: "old", Type: "A", Value: "192.0.2.73", TTL: 600, Paused: true, Remark: "off since May"})
	return &cloud{url: f.Server.URL, keys: f.Keys() + "late: 300ms\nlag: 250ms\n", hand: hand, attributes: f.Attributes, history: f.History}
}

// startPowerDNS has the real server, comments, and a record that a person
// disabled.
func startPowerDNS(t *testing.T, live ...string) *cloud {
	t.Helper()
	f := powerdnstest.Start(t, powerdnstest.Options{})
	hand := f.Hand(t, nil)
	for _, value := range live {
		hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 2 * time.Minute, Data: value})
	}
	putOthers(hand)
	f.SQL(`INSERT INTO comments (domain_id, name, type, modified_at, account, comment) SELECT id, 'www.example.com', 'A', 1, 'ann', 'ask me first' FROM domains;
INSERT INTO comments (domain_id, name, type, modified_at, account, comment) SELECT id, 'mail.example.com', 'A', 1, 'ann', 'the old machine' FROM domains;
INSERT INTO records (domain_id, name, type, content, ttl, prio, disabled) SELECT id, 'old.example.com', 'A', '192.0.2.73', 600, 0, 1 FROM domains;`)
	return &cloud{url: f.URL, keys: f.Keys() + "late: 300ms\n", hand: hand, attributes: f.Attributes, history: f.History}
}

func powerDNSKind(r httpfake.Request) string {
	if r.Method == http.MethodPatch {
		return "write"
	}
	return "list"
}
