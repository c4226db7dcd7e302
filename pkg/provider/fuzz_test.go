package provider

import (
	"testing"

	"sidestep/pkg/record"
)

// FuzzParseStamp reads any text as the stamp of a lease. What is understood of one and
// written anew is understood as that from then on, or two nodes would not agree whose
// the zone is.
func FuzzParseStamp(f *testing.F) {
	f.Add("v=1 holder=mon-1 nonce=0a1b at=1767323045 epoch=7 cluster=ff group=1 seq=3")
	f.Add("v=1 holder=mon-1 nonce=0a1b released=1")
	f.Add("v=2 holder=x")
	f.Add("v=1 v=1 nonce== at=-9223372036854775808 seq=18446744073709551615")
	rewritten := func(s Stamp) Stamp {
		s.Raw = ""
		again := ParseStamp(s.String())
		again.Raw = ""
		return again
	}
	f.Fuzz(func(t *testing.T, text string) {
		stamp := ParseStamp(text)
		if stamp.Raw != text {
			t.Errorf("%q has the raw text %q", text, stamp.Raw)
		}
		once := rewritten(stamp)
		if twice := rewritten(once); twice != once {
			t.Errorf("%q was read as %+v, rewritten as %+v, then as %+v", text, stamp, once, twice)
		}
		if once.Epoch != stamp.Epoch || once.Seq != stamp.Seq || once.Cluster != stamp.Cluster || once.Nonce != stamp.Nonce {
			t.Errorf("%q was read as %+v, and rewritten as %+v", text, stamp, once)
		}
	})
}

// FuzzParseText reads any content of a TXT record: what it says, quoted, says the same.
func FuzzParseText(f *testing.F) {
	f.Add(`"v=spf1 -all"`)
	f.Add(`"a" "b\"\\\255"`)
	f.Add(`"\25`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, content string) {
		text, err := ParseText(content)
		if err != nil {
			return
		}
		if again, err := ParseText(QuoteText(text)); err != nil || again != text {
			t.Errorf("%q says %q, and quoted %q (%v)", content, text, again, err)
		}
	})
}

// FuzzParseOwners reads any TXT record as another tool's claim.
func FuzzParseOwners(f *testing.F) {
	f.Add("a-www.example.com.", `"heritage=external-dns,external-dns/owner=k8s,external-dns/resource=ingress/web"`)
	f.Add("a-.", "heritage=external-dns")
	f.Add("cname-", " heritage=external-dns ,external-dns/owner=")
	f.Fuzz(func(t *testing.T, name, text string) {
		for _, o := range ParseOwners(record.Name(name), text) {
			if o.Name == "" && name != "" || o.Owner == "" {
				t.Errorf("%q at %q: a claim of %+v", text, name, o)
			}
		}
	})
}
