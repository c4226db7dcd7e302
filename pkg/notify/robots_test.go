package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// double is the other side: it keeps what came and says what it is told to say.
type double struct {
	*httptest.Server

	status  int
	header  http.Header
	answer  string
	request *http.Request
	body    []byte
}

func newDouble(t *testing.T, answer string) *double {
	t.Helper()
	d := &double{status: http.StatusOK, answer: answer}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.body, _ = io.ReadAll(r.Body)
		d.request = r
		maps.Copy(w.Header(), d.header)
		w.WriteHeader(d.status)
		_, _ = io.WriteString(w, d.answer)
	}))
	t.Cleanup(d.Close)
	return d
}

// receiver makes one whose messages go to the double. rest is what follows the host.
func (d *double) receiver(t *testing.T, scheme, rest string) *Receiver {
	t.Helper()
	return mustParse(t, Settings{URL: scheme + "://" + strings.TrimPrefix(d.URL, "http://") + rest})
}

func mustParse(t *testing.T, s Settings) *Receiver {
	t.Helper()
	r, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decoded[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return value
}

// handHMAC is HMAC-SHA256 as RFC 2104 writes it, made without the package that the
// senders use.
func handHMAC(key, text string) string {
	block := make([]byte, 64)
	if len(key) > len(block) {
		sum := sha256.Sum256([]byte(key))
		copy(block, sum[:])
	} else {
		copy(block, key)
	}
	xor := func(with byte) []byte {
		out := make([]byte, len(block))
		for i := range block {
			out[i] = block[i] ^ with
		}
		return out
	}
	inner := sha256.Sum256(append(xor(0x36), text...))
	outer := sha256.Sum256(append(xor(0x5c), inner[:]...))
	return base64.StdEncoding.EncodeToString(outer[:])
}

const (
	dingTalkSecret = "SECtest000000000000000000000000000000000000000000000000000000000000"
	feishuSecret   = "feishu-test-secret"
)

// What other implementations of the two signatures make of the same input.
func TestSignaturesAreThoseOfOthers(t *testing.T) {
	query, err := url.ParseQuery(dingTalkSignature(dingTalkSecret, time.UnixMilli(1700000000123)))
	if err != nil || query.Get("timestamp") != "1700000000123" || query.Get("sign") != "wYC6xa19Z9zIPotjVpyaQ5E+0K6qbOFOJ6SrQfaOfeY=" {
		t.Errorf("DingTalk: %v %v", query, err)
	}
	stamp, sign := feishuSignature(feishuSecret, time.Unix(1700000000, 0))
	if stamp != "1700000000" || sign != "e3MJ8Q5llVxGJ8pVkGPBhexDAgjvYqpjPP1GkY9XceI=" {
		t.Errorf("Feishu: %s %s", stamp, sign)
	}
}

func sample() Message { return Sample("mon-1", time.Unix(1700000000, 0)) }

func TestDingTalkIsSigned(t *testing.T) {
	d := newDouble(t, `{"errcode":0,"errmsg":"ok"}`)
	r := d.receiver(t, "dingtalk", "/robot/send?access_token=TOKEN12345&secret="+dingTalkSecret)
	answer, err := r.Send(context.Background(), sample())
	if err != nil || answer != "0 ok" {
		t.Fatalf("Send = %q, %v", answer, err)
	}
	query := d.request.URL.Query()
	stamp := query.Get("timestamp")
	ms, _ := strconv.ParseInt(stamp, 10, 64)
	if off := time.Since(time.UnixMilli(ms)); off < 0 || off > time.Hour {
		t.Errorf("the time of the signature, %s, is no time of now", stamp)
	}
	if want := handHMAC(dingTalkSecret, stamp+"\n"+dingTalkSecret); query.Get("sign") != want {
		t.Errorf("sign = %s, want %s", query.Get("sign"), want)
	}
	if query.Get("access_token") != "TOKEN12345" || query.Has("secret") || bytes.Contains(d.body, []byte(dingTalkSecret)) {
		t.Errorf("sent to %s: %s", d.request.URL, d.body)
	}
	body := decoded[struct {
		MsgType string                   `json:"msgtype"`
		Text    struct{ Content string } `json:"text"`
	}](t, d.body)
	if body.MsgType != "text" || body.Text.Content != sample().Text() {
		t.Errorf("body: %s", d.body)
	}
}

func TestFeishuIsSigned(t *testing.T) {
	d := newDouble(t, `{"code":0,"msg":"success","data":{}}`)
	r := d.receiver(t, "feishu", "/open-apis/bot/v2/hook/0a1b2c3d?secret="+feishuSecret)
	if answer, err := r.Send(context.Background(), sample()); err != nil || answer != "0 success" {
		t.Fatalf("Send = %q, %v", answer, err)
	}
	body := decoded[struct {
		Timestamp string
		Sign      string
		MsgType   string `json:"msg_type"`
		Content   struct {
			Post map[string]struct {
				Title   string
				Content [][]struct{ Tag, Text string }
			}
		}
	}](t, d.body)
	if want := handHMAC(body.Timestamp+"\n"+feishuSecret, ""); body.Sign != want {
		t.Errorf("sign = %s, want %s", body.Sign, want)
	}
	post := body.Content.Post["zh_cn"]
	if body.MsgType != "post" || post.Title != sample().Title() || len(post.Content) != 2 || post.Content[0][0].Tag != "text" {
		t.Errorf("body: %s", d.body)
	}
	if d.request.URL.RawQuery != "" {
		t.Errorf("the secret went along: %s", d.request.URL)
	}
}

func TestWeComAndSlack(t *testing.T) {
	d := newDouble(t, `{"errcode":0,"errmsg":"ok"}`)
	if _, err := d.receiver(t, "wecom", "/cgi-bin/webhook/send?key=k-1234").Send(context.Background(), sample()); err != nil {
		t.Fatal(err)
	}
	if d.request.URL.Query().Get("key") != "k-1234" || !strings.Contains(string(d.body), `"msgtype":"text"`) {
		t.Errorf("WeCom: %s: %s", d.request.URL, d.body)
	}
	d.answer = "ok"
	if answer, err := d.receiver(t, "slack", "/services/T0/B0/XYZ").Send(context.Background(), sample()); err != nil || answer != "200 ok" {
		t.Fatalf("Send = %q, %v", answer, err)
	}
	body := decoded[map[string]any](t, d.body)
	if d.request.URL.Path != "/services/T0/B0/XYZ" || body["text"] != sample().Text() || body["mrkdwn"] != false {
		t.Errorf("Slack: %s: %s", d.request.URL, d.body)
	}
}

// A robot that refuses says so with status 200.
func TestWhatRobotsRefuse(t *testing.T) {
	for _, c := range []struct {
		scheme, rest, answer, want string
		again                      bool
	}{
		{"dingtalk", "/robot/send?access_token=TOKEN12345", `{"errcode":310000,"errmsg":"sign not match TOKEN12345"}`, "code 310000: sign not match ***", false},
		{"dingtalk", "/robot/send?access_token=TOKEN12345", `{"errcode":130101,"errmsg":"send too fast"}`, "code 130101", true},
		{"wecom", "/cgi-bin/webhook/send?key=k-1234", `{"errcode":93000,"errmsg":"invalid webhook url"}`, "code 93000", false},
		{"wecom", "/cgi-bin/webhook/send?key=k-1234", `{"errcode":45009,"errmsg":"api freq out of limit"}`, "code 45009", true},
		{"feishu", "/open-apis/bot/v2/hook/0a1b2c3d", `{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}`, "code 19021", false},
		{"feishu", "/open-apis/bot/v2/hook/0a1b2c3d", `<html>` + "\x1b[31m" + `busy`, `no answer of feishu: <html>\x1b[31mbusy`, true},
		{"feishu", "/open-apis/bot/v2/hook/0a1b2c3d", `{}`, "no answer of feishu", true},
	} {
		d := newDouble(t, c.answer)
		_, err := d.receiver(t, c.scheme, c.rest).Send(context.Background(), sample())
		sent, ok := errors.AsType[*Error](err)
		if !ok || sent.Again != c.again || !strings.Contains(sent.Error(), c.want) {
			t.Errorf("%s answered %s: %v, again %v", c.scheme, c.answer, err, ok && sent.Again)
		}
	}
}

func TestRefusedByStatus(t *testing.T) {
	d := newDouble(t, "no_service")
	r := d.receiver(t, "slack", "/services/T0/B0/XYZ")
	for status, again := range map[int]bool{302: false, 400: false, 404: false, 408: true, 429: true, 500: true, 503: true} {
		d.status, d.header = status, http.Header{"Retry-After": {"17"}, "Location": {"http://127.0.0.1:1/"}}
		_, err := r.Send(context.Background(), sample())
		sent, ok := errors.AsType[*Error](err)
		if !ok || sent.Again != again || sent.After != 17*time.Second || !strings.Contains(sent.Text, fmt.Sprint(status)) {
			t.Errorf("status %d: %#v", status, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, "999999": longestPause, "-1": 0, "soon": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("retryAfter(%q) = %s, want %s", text, got, want)
		}
	}
}

// A receiver that hangs is given up with its context.
func TestHangingReceiverEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := mustParse(t, Settings{URL: server.URL + "/hook"}).Send(ctx, sample())
	if sent, ok := errors.AsType[*Error](err); !ok || !sent.Again {
		t.Errorf("Send = %v", err)
	}
}
