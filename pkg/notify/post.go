package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// mostAnswer is how much of an answer is read, in bytes.
const mostAnswer = 16 << 10

// longestPause is the longest that somebody's Retry-After is believed.
const longestPause = 10 * time.Minute

// newClient keeps no connection, since messages are rare, and follows no redirect,
// which would carry a secret to another host. A proxy is taken from the environment.
func (r *Receiver) newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.roots},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (r *Receiver) post(ctx context.Context, m Message) (string, error) {
	at := time.Now()
	body, err := r.body(m, at)
	if err != nil {
		return "", r.failed(false, 0, "%v", err)
	}
	to := r.target()
	if r.kind == DingTalk && r.secret != "" {
		to.RawQuery += "&" + dingTalkSignature(r.secret, at)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return "", r.failed(false, 0, "make the request: the URL cannot be used") // the error shows it
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := r.do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return "", r.failed(true, 0, "read the answer, status %d: %v", response.StatusCode, err)
	}
	return r.judge(response, text)
}

// do sends one request; its error is an *Error.
func (r *Receiver) do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", "sidestep")
	if user := r.url.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	response, err := r.newClient().Do(request)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the rest of it is the URL
		}
		return nil, r.failed(true, 0, "no answer: %v", err)
	}
	return response, nil
}

// judge tells from an answer whether the message was taken.
func (r *Receiver) judge(response *http.Response, text []byte) (string, error) {
	status := response.StatusCode
	said := strings.TrimSpace(strconv.Itoa(status) + " " + string(text))
	if status < 200 || status > 299 {
		again := status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status == http.StatusTooEarly
		if status >= 300 && status <= 399 {
			said = strconv.Itoa(status) + ": a redirect, which is not followed, as it would carry the URL elsewhere; write where it leads to"
		}
		return "", r.failed(again, retryAfter(response.Header.Get("Retry-After"), time.Now()), "answered %s", said)
	}
	if r.kind == DingTalk || r.kind == WeCom || r.kind == Feishu {
		return r.judgeRobot(text)
	}
	return r.safe(said), nil
}

// robotAnswer is what robots say, always with status 200: DingTalk and WeCom by
// errcode, Feishu by code.
type robotAnswer struct {
	Errcode *int   `json:"errcode"`
	Errmsg  string `json:"errmsg"`
	Code    *int   `json:"code"`
	Msg     string `json:"msg"`
}

// tooFast are the codes by which robots say that there were too many messages
// (130101 and 410100 DingTalk, 45009 WeCom, 9499 and 11232 Feishu), and busy those of
// troubles of their own (-1 both, DingTalk and WeCom).
var (
	tooFast = map[int]time.Duration{130101: longestPause, 410100: longestPause, 45009: time.Minute, 9499: time.Minute, 11232: time.Minute}
	busy    = map[int]bool{-1: true}
)

func (r *Receiver) judgeRobot(text []byte) (string, error) {
	var a robotAnswer
	if err := json.Unmarshal(text, &a); err != nil || a.Errcode == nil && a.Code == nil {
		return "", r.failed(true, 0, "answered what is no answer of %s: %s", r.kind, text)
	}
	code, words := a.Code, a.Msg
	if a.Errcode != nil {
		code, words = a.Errcode, a.Errmsg
	}
	if *code == 0 {
		return r.safe("0 " + words), nil
	}
	pause, fast := tooFast[*code]
	return "", r.failed(fast || busy[*code], pause, "answered code %d: %s", *code, words)
}

// retryAfter reads the header of that name (RFC 9110 section 10.2.3).
func retryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestPause)
}

// dingTalkSignature is what a robot with the security setting "sign" wants in its
// URL: the time in milliseconds, and an HMAC-SHA256 over it and the secret, with the
// secret as its key (open.dingtalk.com, "Custom robot security settings").
func dingTalkSignature(secret string, at time.Time) string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	return url.Values{"timestamp": {stamp}, "sign": {signed(secret, stamp+"\n"+secret)}}.Encode()
}

// feishuSignature is what a robot with signature verification wants in its body: an
// HMAC-SHA256 over nothing, whose key is the time in seconds and the secret
// (open.feishu.cn, "Custom bot usage guide").
func feishuSignature(secret string, at time.Time) (stamp, sign string) {
	stamp = strconv.FormatInt(at.Unix(), 10)
	return stamp, signed(stamp+"\n"+secret, "")
}

func signed(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
