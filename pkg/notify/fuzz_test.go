package notify

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/clock"
)

// FuzzJudge reads any answer of a receiver: it is taken as delivered or refused, and
// neither shows the secrets of the URL.
func FuzzJudge(f *testing.F) {
	f.Add(200, "", `{"errcode":0,"errmsg":"ok"}`)
	f.Add(200, "", `{"code":9499,"msg":"too many"}`)
	f.Add(429, "7", "slow down sekret-0123456789")
	f.Add(503, "Wed, 21 Oct 2099 07:28:00 GMT", "\x1b[31m")
	f.Add(302, "-1", "")
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		for _, to := range []string{
			"slack://hooks.example.net/services/T0/B0/sekret-0123456789", "dingtalk://oapi.example.net/robot/send?access_token=sekret-0123456789",
			"feishu://open.example.net/open-apis/bot/v2/hook/sekret-0123456789", "https://hooks.example.net/sekret-0123456789",
		} {
			r, err := Parse(Settings{URL: to})
			if err != nil {
				t.Fatal(err)
			}
			response := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}
			said, err := r.judge(response, []byte(body))
			if refusal, is := errors.AsType[*Error](err); is {
				said = refusal.Error()
				if refusal.After < 0 || refusal.After > longestPause {
					t.Errorf("a pause of %v", refusal.After)
				}
			}
			if strings.Contains(said, "sekret-0123456789") || strings.ContainsAny(said, "\n\x1b") {
				t.Errorf("%d %q was told as %q", status, body, said)
			}
		}
	})
}

// FuzzTemplate fills any template: what it makes is JSON, or it is refused when it is
// read. Ranges over numbers are left out, with which an operator can wait for ever.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"text": "{{.Text}}"}`, "a \"quoted\" <text>\n\xff")
	f.Add(`{"lines": [{{range $i, $l := .Lines}}{{if $i}},{{end}}"{{$l}}"{{end}}]}`, "x")
	f.Add(`{{.None}}`, "")
	f.Add(`{{template "template" .}}`, "")
	f.Fuzz(func(t *testing.T, form, line string) {
		if strings.Contains(form, "range") || strings.Contains(form, "template") || strings.Contains(form, "block") {
			return
		}
		r, err := Parse(Settings{URL: "https://hooks.example.net/x", Template: form})
		if err != nil {
			return
		}
		m := Sample("mon-1", time.Unix(0, 0))
		m.Sections[0].Lines = []string{Clean(line)}
		body, err := r.body(m, time.Unix(0, 0))
		if err == nil && !json.Valid(body) {
			t.Errorf("%q made %q", form, body)
		}
	})
}

// FuzzRestore takes up any bytes as what was to be said before a restart.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"book":{"outages":[{"fallen":{"web@192.0.2.1":{}}}]},"waiting":{},"dropped":{}}`))
	f.Add([]byte(`{"Book":{"Outages":[null,{"Fallen":{"a":null}},{}]},"Waiting":{"x":[{}]},"Dropped":{"x":-1}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(Settings{URL: "https://hooks.example.net/x"})
		if err != nil {
			t.Fatal(err)
		}
		n := New(Options{Clock: clock.System()})
		n.Set([]Entry{{To: r}})
		n.Restore(data)
		n.Restore(n.State())
		if state := n.State(); state != nil && !json.Valid(state) {
			t.Errorf("%q is kept as %q", data, state)
		}
	})
}
