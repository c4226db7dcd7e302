package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
)

// What a status says where the vendor's own code does not.
func TestClassify(t *testing.T) {
	page := "<!DOCTYPE html><title>Attention required</title>"
	for _, tt := range []struct {
		status      int
		body        string
		read, write provider.Class
	}{
		{400, "{}", provider.Permanent, provider.Permanent},
		{401, "{}", provider.Permanent, provider.Permanent},
		{403, "{}", provider.Permanent, provider.Permanent},
		{404, "{}", provider.Permanent, provider.Permanent},
		{408, "{}", provider.Retryable, provider.Ambiguous},
		{425, "{}", provider.Retryable, provider.Retryable},
		{429, "{}", provider.Retryable, provider.Retryable},
		{429, page, provider.Retryable, provider.Retryable},
		{500, "{}", provider.Retryable, provider.Ambiguous},
		{502, page, provider.Retryable, provider.Ambiguous},
		{503, "{}", provider.Retryable, provider.Ambiguous},
		{403, page, provider.Retryable, provider.Ambiguous}, // of a proxy or a firewall: no word about the credential
		{200, page, provider.Retryable, provider.Ambiguous},
		{204, "", provider.Retryable, provider.Ambiguous},
		{301, "", provider.Permanent, provider.Ambiguous},
		{303, "", provider.Permanent, provider.Ambiguous}, // "see other" is what follows a form that was taken
	} {
		for write, want := range map[bool]provider.Class{false: tt.read, true: tt.write} {
			e := Classify("edit", write, &Reply{Status: tt.status, Header: http.Header{"Retry-After": {"7"}}, Body: []byte(tt.body)})
			if e.Class != want || e.After != 7*time.Second || !strings.HasPrefix(e.Code, "HTTP ") || e.Err == nil {
				t.Errorf("%d %q, write %v: expected %s after 7s, got %s after %s: %v", tt.status, tt.body, write, want, e.Class, e.After, e)
			}
			if elsewhere := tt.status == 404 || tt.body == page && tt.status != 429; elsewhere && !strings.Contains(e.Hint, "endpoint on the zone") {
				t.Errorf("%d %q: expected advice on the endpoint, got %q", tt.status, tt.body, e.Hint)
			}
		}
	}
}

// Whatever stands between us and the API may ask for a long wait, but only "too
// many requests" is believed.
func TestOnlyTooManyRequestsHoldsForLong(t *testing.T) {
	page := "<html><title>Back soon</title>"
	for _, tt := range []struct {
		status int
		body   string
		want   time.Duration
	}{
		{503, page, maxOtherAfter},
		{403, page, maxOtherAfter},
		{503, "no healthy upstream", maxOtherAfter},
		{429, page, maxAfter},
	} {
		e := Classify("list", false, &Reply{Status: tt.status, Header: http.Header{"Retry-After": {"3600"}}, Body: []byte(tt.body)})
		if e.After != tt.want {
			t.Errorf("%d %q: expected to wait %s, got %s", tt.status, tt.body, tt.want, e.After)
		}
	}
}

func TestPage(t *testing.T) {
	for _, tt := range []struct {
		kind, body string
		page       bool
	}{
		{"text/html; charset=utf-8", "{}", true},
		{"", " \n<!DOCTYPE HTML><html>", true},
		{"application/json", "<HTML lang=en>", true},
		{"application/json", `{"html":"<html>"}`, false},
		{"text/xml", `<?xml version="1.0"?><ErrorResponse/>`, false},
		{"", "", false},
	} {
		if err := Page(http.Header{"Content-Type": {tt.kind}}, []byte(tt.body)); (err != nil) != tt.page {
			t.Errorf("%q %q: got %v", tt.kind, tt.body, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "17": 17 * time.Second, "86400": maxAfter, "-3": 0, "soon": 0,
		"Wed, 21 Oct 2015 07:28:00 GMT": 0, "Fri, 21 Oct 2150 07:28:00 GMT": maxAfter,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: expected %s, got %s", text, want, got)
		}
	}
}
