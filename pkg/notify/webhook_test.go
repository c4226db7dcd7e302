package notify

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestWebhookGetsTheShape(t *testing.T) {
	d := newDouble(t, "")
	r := mustParse(t, Settings{URL: strings.Replace(d.URL, "http://", "http://ann:pass%20word@", 1) + "/hook?x=1"})
	m := sample()
	m.Dropped = 3
	if answer, err := r.Send(context.Background(), m); err != nil || answer != "200" {
		t.Fatalf("Send = %q, %v", answer, err)
	}
	got := decoded[Shape](t, d.body)
	if got.Node != "mon-1" || got.At != "2023-11-14T22:13:20Z" || got.Text != m.Text() || got.Topics[0] != "test" || len(got.Lines) != 3 || got.Dropped != 3 {
		t.Errorf("body: %s", d.body)
	}
	user, password, _ := d.request.BasicAuth()
	if user != "ann" || password != "pass word" || d.request.URL.RequestURI() != "/hook?x=1" {
		t.Errorf("%s %s to %s", user, password, d.request.URL)
	}
}

func TestTemplateIsFilledSafely(t *testing.T) {
	d := newDouble(t, "")
	r := mustParse(t, Settings{URL: d.URL, Template: `{"summary": "{{.Title}}", "severity": "{{if eq (index .Topics 0) "down"}}critical{{else}}info{{end}}",
		"lines": [{{range $i, $line := .Lines}}{{if $i}}, {{end}}"{{$line}}"{{end}}]}`})
	hostile := "web@x\", \"severity\": \"none\n\x1b[31m</script>\\"
	m := Message{Node: "mon-1", At: time.Unix(0, 0), Sections: []Section{{Topic: Down, Title: "1 target down", Lines: []string{Clean(hostile), hostile}}}}
	if _, err := r.Send(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	got := decoded[struct {
		Summary, Severity string
		Lines             []string
	}](t, d.body)
	if got.Severity != "critical" || got.Summary != "sidestep mon-1: 1 target down" || !strings.Contains(got.Lines[0], `", "severity": "none\n\x1b[31m</script>\`) {
		t.Errorf("body: %s", d.body)
	}
}

// TestTemplateCallsNobody: what fills it may come from anywhere, and goes into a chat
// room of a kind that is not known here.
func TestTemplateCallsNobody(t *testing.T) {
	d := newDouble(t, "")
	r := mustParse(t, Settings{URL: d.URL, Template: `{"content": "{{.Title}}|{{.Text}}|{{range .Lines}}{{.}}{{end}}"}`})
	hostile := "@everyone @here <!channel> <@42> [x](http://evil.example)"
	m := Message{Node: "mon-1", Sections: []Section{{Topic: Down, Title: hostile, Lines: []string{hostile}}}}
	if _, err := r.Send(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	content := decoded[map[string]string](t, d.body)["content"]
	for _, call := range []string{"@everyone", "@here", "<!", "<@", "](", "://"} {
		if strings.Contains(content, call) {
			t.Errorf("%q is in %s", call, content)
		}
	}
}

func TestBadURLsAreRefusedInWords(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{URL: "hooks.slack.com/services/MARKER"}, "begins with one of dingtalk, feishu, http, https, slack, smtp, smtps, wecom"},
		{Settings{URL: "discord://MARKER@1"}, `got "discord"`},
		{Settings{URL: "slack://MARKER host/"}, "spaces and percent signs"},
		{Settings{URL: "slack:///MARKER"}, "a host name"},
		{Settings{URL: "https://x.example/MARKER#y"}, "fragment"},
		{Settings{URL: "slack://hooks.slack.com"}, "a path"},
		{Settings{URL: "http://192.0.2.1/MARKER"}, "insecure: true"},
		{Settings{URL: "dingtalk://oapi.dingtalk.com/robot/send?key=MARKER"}, "access_token="},
		{Settings{URL: "wecom://qyapi.weixin.qq.com/cgi-bin/webhook/send?access_token=MARKER"}, "key="},
		{Settings{URL: "wecom://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=MARKER&secret=MARKER"}, "signs nothing"},
		{Settings{URL: "feishu://open.feishu.cn/hook/MARKER", Template: "{}"}, "for a webhook, and this is feishu"},
		{Settings{URL: "smtp://u:MARKER@mx.example.com?to=a@example.com"}, "from="},
		{Settings{URL: "smtp://mx.example.com?from=a@example.com"}, "got nobody"},
		{Settings{URL: "smtp://mx.example.com?from=a@example.com&to=b@example.com%0d%0aBcc:c@example.com"}, "to=ADDRESS"},
		{Settings{URL: "smtp://mx.example.com?from=a@example.com&to=b@example.com&pass=MARKER"}, `got "pass" too`},
		{Settings{URL: "smtp://u:p/MARKER@mx.example.com?from=a@example.com&to=b@example.com"}, "cannot be read"},
		{Settings{URL: "https://x.example/MARKER", Template: `{"text": "{{.Text"}`}, "cannot be read"},
		{Settings{URL: "https://x.example/MARKER", Template: `{"text": "{{.Body}}"}`}, "cannot be filled"},
		{Settings{URL: "https://x.example/MARKER", Template: `{"text": {{.Text}}}`}, "makes no JSON"},
	} {
		_, err := Parse(c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "MARKER") {
			t.Errorf("Parse(%+v) = %v, want %q and no secret", c.s, err, c.want)
		}
	}
}

// good are URLs as vendors show them, and as one writes them.
var good = map[string]string{
	"https://hooks.slack.com/services/MARKER/MARKER-2":                            "slack at hooks.slack.com",
	"slack://chat.example.org/hooks/MARKER":                                       "slack at chat.example.org",
	"https://oapi.dingtalk.com/robot/send?access_token=MARKER&secret=MARKER-2":    "dingtalk at oapi.dingtalk.com",
	"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=MARKER":                 "wecom at qyapi.weixin.qq.com",
	"https://open.feishu.cn/open-apis/bot/v2/hook/MARKER?secret=MARKER-2":         "feishu at open.feishu.cn",
	"https://open.larksuite.com/open-apis/bot/v2/hook/MARKER":                     "feishu at open.larksuite.com",
	"smtps://u:MARKER@mx.example.com?from=a@example.com&to=b@example.com,c@d.org": "mail at mx.example.com",
	"https://u:MARKER@hook.example.com:8443/MARKER":                               "webhook at hook.example.com:8443",
}

// TestCase94ReceiversShowNoSecret prints receivers in every way and makes every call
// fail: nobody listens.
func TestCase94ReceiversShowNoSecret(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "")
	for text, want := range good {
		r := mustParse(t, Settings{URL: text})
		r.url.Host = "127.0.0.1:1"
		if r.mail != nil {
			r.mail.addr = r.url.Host
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := r.Send(ctx, sample())
		cancel()
		if err == nil {
			t.Fatal("sent to nowhere")
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Error("x", "receiver", r, "error", err)
		all := fmt.Sprintf("%v %+v %#v %s %v %#v %s", r, r, r, r, err, err, log.String())
		if strings.Contains(all, "MARKER") {
			t.Errorf("a secret is shown: %s", all)
		}
		if r.String() != want {
			t.Errorf("it prints as %s, want %s", r, want)
		}
		again := mustParse(t, Settings{URL: r.Masked()})
		if again.String() != r.String() || strings.Contains(r.Masked(), "MARKER") {
			t.Errorf("masked as %s: %s", r.Masked(), again)
		}
	}
}

func TestHostileTextsAreHarmless(t *testing.T) {
	hostile := "<!channel> <@U1> @here @all @所有人 [x](http://evil.example) *b* `c`\r\nBcc: x@y\x1b[2J\u202e\x00\xff"
	line := Clean(hostile)
	if strings.ContainsAny(line, "\r\n\x1b\x00\u202e") || strings.Contains(line, "\xff") || !strings.Contains(line, `\r\nBcc`) {
		t.Errorf("Clean = %q", line)
	}
	m := Message{Node: "mon-1", At: time.Unix(0, 0), Sections: []Section{{Topic: Down, Title: "1 target down", Lines: []string{line}}}}
	for scheme, rest := range map[string]string{"slack": "/x", "dingtalk": "/?access_token=x", "wecom": "/?key=x", "feishu": "/x"} {
		r := mustParse(t, Settings{URL: scheme + "://127.0.0.1" + rest})
		body, err := r.body(m, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, meaning := range []string{"@here", "@all", "@所有人", "](", "http://"} {
			if strings.Contains(string(body), meaning) {
				t.Errorf("%s: %q means something in %s", scheme, meaning, body)
			}
		}
		if tags := strings.Contains(string(body), "<!channel>"); tags && (scheme == "slack" || scheme == "feishu") {
			t.Errorf("%s: a tag in %s", scheme, body)
		}
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for most := 3; most < 30; most++ {
		if got := cut(strings.Repeat("三", 20), most); len(got) > most || strings.ContainsRune(got, '\ufffd') {
			t.Errorf("cut to %d = %q", most, got)
		}
	}
	long := Clean(strings.Repeat("x", 5000))
	if len(long) != mostText {
		t.Errorf("%d bytes", len(long))
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff三")
	f.Fuzz(func(t *testing.T, text string) {
		got := Clean(text)
		if len(got) > mostText || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("Clean(%q) = %q", text, got)
		}
	})
}
