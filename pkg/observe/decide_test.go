package observe

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

const (
	oldIP = "203.0.113.10"
	newIP = "203.0.113.20"
)

var began = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func told(values ...string) View {
	v := View{Outcome: Answered, Values: values, TTL: 30 * time.Second, Server: Server{Addr: netip.MustParseAddrPort("192.0.2.53:53")}}
	if len(values) == 0 {
		v.Outcome = AnsweredNXDomain
	}
	return v
}

func reply(address, identity string) Reply {
	return Reply{Address: netip.AddrPortFrom(netip.MustParseAddr(address), 443), Opened: began, At: began, Requests: 1, Protocol: "HTTP/1.1", Status: 200, Identity: identity}
}

func failedReply(address string, phase check.Phase, cause check.Cause) Reply {
	r := Reply{At: began, Phase: phase, Cause: cause, Detail: "it did not work"}
	if address != "" {
		r.Address = netip.AddrPortFrom(netip.MustParseAddr(address), 443)
	}
	return r
}

// moment is a sample: what the servers say, what the resolver says, and what was
// reached.
func moment(resolver View, kept Reply, fresh Reply, servers ...View) Sample {
	return Sample{At: began, Servers: servers, Resolver: resolver, Kept: &kept, New: []Reply{fresh}}
}

// TestFindings holds each row against what it is for, and against what is like it.
func TestFindings(t *testing.T) {
	quiet := moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP), told(oldIP))
	moved := moment(told(newIP), reply(newIP, "B"), reply(newIP, "B"), told(newIP), told(newIP))
	silent := View{Outcome: TimedOut, Detail: "no answer in time"}
	for name, c := range map[string]struct {
		samples []Sample
		want    string
	}{
		"nothing yet":  {nil, ""},
		"quiet":        {[]Sample{quiet}, ""},
		"all moved":    {[]Sample{quiet, moved}, ""},
		"servers":      {[]Sample{moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(newIP), told(oldIP))}, rowServers.Seen},
		"one is mute":  {[]Sample{moment(told(newIP), reply(newIP, "B"), reply(newIP, "B"), told(newIP), silent)}, rowMute.Seen},
		"all are mute": {[]Sample{moment(told(newIP), reply(newIP, "B"), reply(newIP, "B"), silent, silent)}, rowMute.Seen},
		"cache old":    {[]Sample{quiet, moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(newIP), told(newIP))}, rowPath.Seen},
		"no cache":     {[]Sample{moment(silent, reply(oldIP, "A"), failedReply("", check.PhaseResolve, check.CauseLocal), told(newIP))}, rowResolver.Seen},
		"cache denies": {[]Sample{moment(told(), reply(oldIP, "A"), failedReply("", check.PhaseResolve, check.CauseUnreachable), told(newIP))}, rowNegative.Seen},
		"all deny":     {[]Sample{moment(told(), reply(oldIP, "A"), failedReply("", check.PhaseResolve, check.CauseUnreachable), told())}, rowDenied.Seen},
		"one denies":   {[]Sample{moment(told(newIP), reply(newIP, "B"), reply(newIP, "B"), told(newIP), told())}, rowServers.Seen},
		"peer old":     {[]Sample{quiet, moment(told(newIP), reply(oldIP, "A"), reply(newIP, "B"), told(newIP))}, rowAge.Seen},
		"wrong backend": {
			[]Sample{quiet, moment(told(newIP), reply(newIP, "A"), reply(newIP, "A"), told(newIP))}, rowRouting.Seen,
		},
		"gateway": {[]Sample{
			moment(told(oldIP), reply("192.0.2.1", "A"), reply("192.0.2.1", "A"), told(oldIP)),
			moment(told(newIP), reply("192.0.2.1", "A"), reply("192.0.2.1", "A"), told(newIP)),
		}, rowRouting.Seen},
		"gateway that follows": {[]Sample{
			moment(told(oldIP), reply("192.0.2.1", "A"), reply("192.0.2.1", "A"), told(oldIP)),
			moment(told(newIP), reply("192.0.2.1", "B"), reply("192.0.2.1", "B"), told(newIP)),
		}, ""},
		"gateway that keeps its own connection": {[]Sample{
			moment(told(oldIP), reply("192.0.2.1", "A"), reply("192.0.2.1", "A"), told(oldIP)),
			moment(told(newIP), reply("192.0.2.1", "A"), reply("192.0.2.1", "B"), told(newIP)),
		}, rowAge.Seen},
		"no identity":   {[]Sample{quiet, moment(told(newIP), reply(newIP, ""), reply(newIP, ""), told(newIP))}, ""},
		"no connection": {[]Sample{moment(told(newIP), reply(newIP, "B"), failedReply(newIP, check.PhaseTLS, check.CauseCertificate), told(newIP))}, rowTransport.Seen},
		"two at once": {
			[]Sample{moment(told(oldIP), reply(oldIP, "A"), failedReply(oldIP, check.PhaseConnect, check.CauseRefused), told(newIP))},
			rowPath.Seen + "; " + rowTransport.Seen,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var line Timeline
			for _, s := range c.samples {
				line.Add(s)
			}
			if got := findings(&line); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, f := range line.Findings() {
				if f.Facts == "" || f.Look == "" {
					t.Errorf("%+v says too little", f)
				}
			}
		})
	}
}

// TestGaps tells what could not be read from what said no.
func TestGaps(t *testing.T) {
	silent := View{Server: Server{Name: "ns2.example.net.", Addr: netip.MustParseAddrPort("[2001:db8::53]:53")}, Outcome: TimedOut, Detail: "no answer in time"}
	for name, c := range map[string]struct {
		sample Sample
		want   string
	}{
		"all well":      {moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP)), ""},
		"one is mute":   {moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP), silent), ""},
		"servers":       {moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), silent), "authoritative ns2.example.net 2001:db8::53: timeout: no answer in time"},
		"resolver":      {moment(silent, reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP)), "resolver ns2.example.net 2001:db8::53: timeout: no answer in time"},
		"no connection": {moment(told(oldIP), reply(oldIP, "A"), failedReply(oldIP, check.PhaseConnect, check.CauseTimeout), told(oldIP)), "new connection to 203.0.113.10: connect/timeout it did not work"},
	} {
		if got := strings.Join(c.sample.Gaps(), "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	unknown := reply(oldIP, "")
	unknown.Missing = "the answer has no header X-Backend"
	if got := moment(told(oldIP), unknown, reply(oldIP, "A"), told(oldIP)).Gaps(); len(got) != 1 || got[0] != "kept connection to 203.0.113.10: no identity: the answer has no header X-Backend" {
		t.Errorf("got %q", got)
	}
}

// TestSVG draws timelines and reads them as XML, whatever a server has said.
func TestSVG(t *testing.T) {
	odd := reply(newIP, clean(`B<&"'>`+"\x00\u2028")+strings.Repeat("x", 300))
	lines := map[string][]Sample{"empty": nil, "one": {moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP))}}
	for i := range 40 {
		s := moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP), told(newIP))
		if i > 20 {
			s = moment(told(), odd, failedReply(newIP, check.PhaseTLS, check.CauseCertificate), told(newIP), View{Outcome: TimedOut})
		}
		s.At = began.Add(time.Duration(i) * time.Second)
		lines["many"] = append(lines["many"], s)
	}
	for name, samples := range lines {
		var line Timeline
		for _, s := range samples {
			line.Add(s)
		}
		var out strings.Builder
		if err := line.SVG(&out, `www.example.com. <A> & "more"`); err != nil {
			t.Fatal(err)
		}
		bars, texts := 0, ""
		for decoder := xml.NewDecoder(strings.NewReader(out.String())); ; {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, out.String())
			}
			switch token := token.(type) {
			case xml.StartElement:
				if token.Name.Local == "g" && len(token.Attr) > 0 {
					bars++
				}
			case xml.CharData:
				texts += string(token)
			}
		}
		if want := map[string]int{"empty": 0, "one": 4, "many": 10}[name]; bars != want {
			t.Errorf("%s: %d bars, want %d\n%s", name, bars, want, out.String())
		}
		if name != "many" {
			continue
		}
		for _, want := range []string{`www.example.com. <A> & "more"`, "NXDOMAIN", `B<&"'>`, "203.0.113.20 tls/certificate", "A at 203.0.113.10", "remaining TTL, 30s at the top", "its TTL, from 30s down to nothing", "xxx…"} {
			if !strings.Contains(texts, want) {
				t.Errorf("the picture does not say %q", want)
			}
		}
	}
}

func TestParseIdentity(t *testing.T) {
	for _, text := range []string{"header:X-Backend", "json:node.name", "json:list.0", "regexp:backend ([a-z]+)"} {
		if id, err := ParseIdentity(text); err != nil || id.String() != text || id.IsZero() {
			t.Errorf("%s: %v, %v", text, id, err)
		}
	}
	for _, text := range []string{"", "x", "header:", "header:a b", "header:Set-Cookie", "header:authorization", "json:", "json:a..b", "regexp:", "regexp:(", "regexp:node", "regexp:(?:node)", "cookie:x"} {
		if _, err := ParseIdentity(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestIdentitiesAreShort prints no body, whatever the pattern takes.
func TestIdentitiesAreShort(t *testing.T) {
	id, err := ParseIdentity("regexp:(?s)(.*)")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		"node-7\n": "node-7", "node-7\r\n<html>": "node-7...", strings.Repeat("x", 64): strings.Repeat("x", 64),
		strings.Repeat("x", 65): strings.Repeat("x", 61) + "...", strings.Repeat("x", 64) + "\ny": strings.Repeat("x", 61) + "...", "a\x1b": `a\x1b`,
	} {
		if found, missing := id.of(&http.Response{}, []byte(body), true); short(found) != want || missing != "" {
			t.Errorf("%q: %q, want %q; %s", body, short(found), want, missing)
		}
	}
}

// TestTheUserOfAProxyIsNeverShown asks through one that is not there, and hears what it
// was told again.
func TestTheUserOfAProxyIsNeverShown(t *testing.T) {
	via, err := ParseVia("http://me:hush@127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	r := &Request{HTTP: check.HTTP{Scheme: "http", Host: "www.example.com", Port: 80}, Via: via}
	if got := r.mask("Basic bWU6aHVzaA== of hush"); got != "Basic *** of ***" {
		t.Errorf("an echo: %q", got)
	}
	_, f := r.open(t.Context(), netip.MustParseAddrPort("127.0.0.1:1"))
	if f == nil || strings.Contains(f.Error(), "hush") || !strings.Contains(f.Error(), "http://127.0.0.1:1 itself cannot be reached") {
		t.Errorf("not there: %v", f)
	}
}

func TestParseVia(t *testing.T) {
	for text, want := range map[string]string{
		"http://192.0.2.1:3128": "http://192.0.2.1:3128", "http://me:hush@proxy.example.net": "http://proxy.example.net:80",
		"tcp://[2001:db8::1]:443": "tcp://[2001:db8::1]:443", "http://192.0.2.1:3128/": "http://192.0.2.1:3128",
	} {
		if v, err := ParseVia(text); err != nil || v.String() != want {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "192.0.2.1:3128", "tcp://192.0.2.1", "https://hush@192.0.2.1", "tcp://me:hush@192.0.2.1:1", "http://hush@x:0", "http://x:99999", "http://hush@x/path", "http://x?hush=1", "http://:80"} {
		if v, err := ParseVia(text); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
}

// TestLoopbackAndWorse sorts what a filtering resolver may answer.
func TestLoopbackAndWorse(t *testing.T) {
	to, refused := dialled([]string{oldIP, "0.0.0.0", "127.0.0.1", "224.0.0.1", "169.254.1.1", "10.0.0.1", "2001:db8::1"}, 443, false)
	if len(to) != 3 || len(refused) != 4 {
		t.Errorf("dialled %v, refused %q", to, refused)
	}
	if to, _ = dialled([]string{"127.0.0.1", "0.0.0.0"}, 443, true); len(to) != 1 {
		t.Errorf("in a lab: %v", to)
	}
}
