package route53

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

// canned answers requests without a network: the hosted zone says how many sets
// there are, and each list is the next of the pages.
type canned struct {
	count int
	pages [][]byte
	next  int
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte(fmt.Sprintf(`<GetHostedZoneResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><HostedZone><Id>/hostedzone/%s</Id><Name>example.com.</Name><ResourceRecordSetCount>%d</ResourceRecordSetCount></HostedZone></GetHostedZoneResponse>`, route53test.ZoneID, c.count))
	if strings.Contains(r.URL.Path, "/rrset") {
		body = c.pages[c.next%len(c.pages)]
		c.next++
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

func offline(t testing.TB, c *canned) *Adapter {
	t.Helper()
	a, err := build(provider.Settings{
		Zone:    testZone,
		Options: map[string]string{"hosted_zone_id": route53test.ZoneID},
		Secrets: map[string]provider.Secret{"access_key_id": provider.NewSecret("k"), "secret_access_key": provider.NewSecret("s")},
	})
	if err != nil {
		t.Fatal(err)
	}
	way, err := a.reach()
	if err != nil {
		t.Fatal(err)
	}
	way.http = &http.Client{Transport: c}
	return a
}

const (
	pageHead = `<?xml version="1.0"?><ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ResourceRecordSets>`
	pageTail = `<MaxItems>300</MaxItems></ListResourceRecordSetsResponse>`
	pageSOA  = `<ResourceRecordSet><Name>example.com.</Name><Type>NS</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>ns.example.net.</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>` +
		`<ResourceRecordSet><Name>example.com.</Name><Type>SOA</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>a. b. 1 2 3 4 5</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>`
)

// FuzzList feeds answers to the reader of lists: none may make it panic, and
// what it lists can be written back.
func FuzzList(f *testing.F) {
	set := func(name, kind, more, value string) string {
		return `<ResourceRecordSet><Name>` + name + `</Name><Type>` + kind + `</Type>` + more + `<TTL>60</TTL><ResourceRecords><ResourceRecord><Value>` + value + `</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>`
	}
	whole := func(sets ...string) string {
		return pageHead + pageSOA + strings.Join(sets, "") + `</ResourceRecordSets><IsTruncated>false</IsTruncated>` + pageTail
	}
	for _, text := range []string{
		whole(set("www.example.com.", "A", "", "192.0.2.1"), set(`\052.example.com.`, "AAAA", "", "2001:db8::1")),
		whole(set("www.example.com.", "A", "<SetIdentifier>192.0.2.1</SetIdentifier><Weight>3</Weight>", "192.0.2.1"), set("www.example.com.", "A", "<SetIdentifier>b</SetIdentifier><Weight>0</Weight>", "192.0.2.2")),
		whole(set("www.example.com.", "CNAME", "<SetIdentifier>b</SetIdentifier><Region>eu-west-1</Region>", "a.example.net")),
		whole(set("_sidestep.example.com.", "TXT", "", `"v=1 holder=a at=1 epoch=1 seq=1 nonce=ff"`), set("_sidestep-paused.www.example.com.", "TXT", "", `"v=sidestep1 type=A value=192.0.2.2 ttl=60 set=b weight=7"`)),
		whole(set("_sidestep-paused.www.example.com.", "TXT", "", `"v=sidestep1 type=A value=192.0.2.2 ttl=60 weight=999" "\377`)),
		whole(`<ResourceRecordSet><Name>www.example.com.</Name><Type>A</Type><AliasTarget><HostedZoneId>Z</HostedZoneId><DNSName>lb.</DNSName></AliasTarget></ResourceRecordSet>`),
		pageHead + `</ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>a</NextRecordName>` + pageTail, "<html>", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		a := offline(t, &canned{count: 1, pages: [][]byte{page}})
		snap, err := a.List(t.Context())
		if err != nil {
			if provider.ClassOf(err) != provider.Retryable {
				t.Fatalf("a list that cannot be read: %v", err)
			}
			return
		}
		v := snap.Native.(*view) //nolint:forcetypeassert // of our making
		for _, set := range snap.Sets {
			call := provider.Call{Key: set.Key, Seen: snap, Next: stamp(1), Empty: true}
			for _, answer := range set.Answers {
				c := record.Change{Action: record.Pause, Key: set.Key, Value: answer.Value}
				if !answer.Live {
					c.Action = record.Resume
				}
				call.Away = append(call.Away, c)
			}
			b, err := a.draw("fuzz", call, v)
			if err == nil && len(b.changes) == 0 {
				t.Fatalf("%v: nothing to write", set)
			}
		}
		a.Remains(snap)
	})
}

// large is a zone of so many sets.
func large(total int) *canned {
	c := &canned{count: total + 2}
	stamps := []byte(pageHead + `</ResourceRecordSets><IsTruncated>false</IsTruncated>` + pageTail)
	c.pages = append(c.pages, stamps) // asked for before the pages, and after them
	for from := 0; from < total; from += pageSize {
		var page strings.Builder
		page.WriteString(pageHead)
		if from == 0 {
			page.WriteString(pageSOA)
		}
		for i := from; i < min(total, from+pageSize); i++ {
			fmt.Fprintf(&page, `<ResourceRecordSet><Name>host%06d.example.com.</Name><Type>A</Type><TTL>300</TTL><ResourceRecords><ResourceRecord><Value>10.%d.%d.%d</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>`, i, i>>16, i>>8&255, i&255)
		}
		if from+pageSize < total {
			fmt.Fprintf(&page, `</ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>host%06d.example.com.</NextRecordName><NextRecordType>A</NextRecordType>%s`, from+pageSize, pageTail)
		} else {
			page.WriteString(`</ResourceRecordSets><IsTruncated>false</IsTruncated>` + pageTail)
		}
		c.pages = append(c.pages, []byte(page.String()))
	}
	c.pages = append(c.pages, stamps)
	return c
}

// BenchmarkList lists a zone of 100,000 sets without a network.
func BenchmarkList(b *testing.B) {
	const total = 100_000
	a := offline(b, large(total))
	b.ReportAllocs()
	for b.Loop() {
		s, err := a.List(b.Context())
		if err != nil || len(s.Sets) != total {
			b.Fatalf("%v", err)
		}
	}
}
