package cloudflare

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

// apiError is one error of an answer. What is wrong with a record stands in the
// chain.
type apiError struct {
	Code    int64      `json:"code"`
	Message string     `json:"message"`
	Chain   []apiError `json:"error_chain"`
}

func (e apiError) write(b *strings.Builder) {
	b.WriteString(strings.TrimSuffix(e.Message, "."))
	for _, inner := range e.Chain {
		fmt.Fprintf(b, " (%d ", inner.Code)
		inner.write(b)
		b.WriteString(")")
	}
}

// meaning is what an error code says to a caller.
type meaning struct {
	class provider.Class
	hint  string
}

const (
	then      = "; then: sidestep validate --online"
	hintToken = "see in the dashboard under My Profile, API Tokens, whether the token expired, was rolled or is limited to other addresses" + then
	hintScope = "the token needs the permissions Zone:Read and DNS:Edit for this zone" + then
	hintBoth  = "see in the dashboard under My Profile, API Tokens, whether the token expired, was rolled, is limited to other addresses or has not the permissions Zone:Read and DNS:Edit for this zone"
	hintClash = "see what else stands at this name in the dashboard: a CNAME stands alone"
)

// meanings are the codes whose meaning is known from the documentation, or from
// answers that people have posted.
var meanings = map[int64]meaning{
	971:   {provider.Retryable, "the credential is used too much: see what else uses it"},
	10429: {provider.Retryable, "the credential is used too much: see what else uses it"},

	1000:  {provider.Permanent, hintToken}, // invalid API token
	6003:  {provider.Permanent, "the token has not the form of one: copy it again"},
	6111:  {provider.Permanent, "the token has not the form of one: copy it again"},
	9103:  {provider.Permanent, hintToken}, // unknown X-Auth-Key
	9106:  {provider.Permanent, hintToken}, // no credential in the request
	9109:  {provider.Permanent, hintBoth + then},
	10000: {provider.Permanent, hintScope}, // authentication error: no permission
	10001: {provider.Permanent, hintScope},

	1001: {provider.Permanent, hintZoneID}, // invalid zone identifier
	7000: {provider.Permanent, "no such route: correct endpoint on the zone, which ends before /zones"},
	7003: {provider.Permanent, hintZoneID},

	81044: {provider.Conflict, ""}, // record does not exist
	81053: {provider.Conflict, hintClash},
	81054: {provider.Conflict, hintClash},
	81055: {provider.Conflict, hintClash},
	81056: {provider.Conflict, hintClash},
	81057: {provider.Conflict, ""}, // the record already exists
	81058: {provider.Conflict, ""}, // an identical record already exists

	81045: {provider.Permanent, "the zone has as many records as its plan allows: delete some that nobody needs, or take a larger plan"},
	1004:  {provider.Permanent, "correct what the message names in the config, or at the record in the dashboard"},
	9300:  {provider.Permanent, "record tags are not in this zone's plan"},
}

const hintZoneID = "correct zone_id on the zone, or leave it out to find the zone by its name"

// failure is an answer that is no success.
type failure struct {
	op     string
	write  bool
	status int
	header http.Header
	body   []byte // its beginning, for what is no JSON
	errors []apiError
	read   bool // the body was an answer of the API
}

// classify says what a failure means, by its code before its status.
func (a *Adapter) classify(f failure) *provider.Error {
	e := httpapi.Classify(f.op, f.write, &httpapi.Reply{Status: f.status, Header: f.header, Body: f.body})
	if f.status == http.StatusTooManyRequests || e.Class == provider.Retryable && f.hasCode(971, 10429) {
		return a.blocked(e, f)
	}
	if f.status == http.StatusOK {
		e.Err = errors.New("the API says that it failed")
	}
	if !f.read || len(f.errors) == 0 || f.status >= 500 {
		return a.withText(f, e)
	}
	code, known := f.reason()
	e.Code, e.Err = strconv.FormatInt(code, 10), errors.New(a.said(f.text()))
	if known {
		e.Class, e.Hint = meanings[code].class, meanings[code].hint
	}
	if e.Class == provider.Conflict || f.status == http.StatusBadRequest || f.status == http.StatusNotFound {
		e.Err = &refusal{e.Err}
	}
	if code == 9109 && a.zoneID != "" { // also what an id of nobody is answered with
		e.Hint = hintBoth + "; or " + hintZoneID + then
	}
	return e
}

// reason is the error to go by: the first whose code is known, what stands in the
// chain of another before that other, because it is the more exact; else the
// first of all. Nobody has promised which place an error has in the answer to a
// batch.
func (f failure) reason() (code int64, known bool) {
	known = f.walk(func(e apiError) bool {
		code = e.Code
		_, found := meanings[code]
		return found
	})
	if !known {
		code = f.errors[0].Code
	}
	return code, known
}

// walk calls each for all errors, what is in a chain first, until it says that it
// has found what it looks for.
func (f failure) walk(each func(apiError) bool) bool { return anyOf(f.errors, each) }

func anyOf(list []apiError, each func(apiError) bool) bool {
	return slices.ContainsFunc(list, func(e apiError) bool { return anyOf(e.Chain, each) || each(e) })
}

// text is what the API says, all of it, as it says it.
func (f failure) text() string {
	var b strings.Builder
	for i, e := range f.errors {
		if i > 0 {
			fmt.Fprintf(&b, "; %d ", e.Code)
		}
		e.write(&b)
	}
	return b.String()
}

// said makes a text of the API fit for an error.
func (a *Adapter) said(text string) string { return httpapi.Foreign(text, a.token, a.finder) }

// refusal marks an answer in which the API itself refused what was asked for:
// nothing of it happened. Which of its codes that is says less than the zone.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

func refused(err error) bool {
	_, is := errors.AsType[*refusal](err)
	return is
}

// withText adds what the API said to an error that its status explains.
func (a *Adapter) withText(f failure, e *provider.Error) *provider.Error {
	if len(f.errors) > 0 {
		e.Err = fmt.Errorf("%w: %d %s", e.Err, f.errors[0].Code, a.said(f.text()))
	}
	return e
}

func (f failure) hasCode(codes ...int64) bool {
	return f.walk(func(e apiError) bool { return slices.Contains(codes, e.Code) })
}

// blocked is one request too many. Where the API does not say for how long it
// takes no more, it is five minutes, and every zone of the credential waits.
func (a *Adapter) blocked(e *provider.Error, f failure) *provider.Error {
	e.Class = provider.Retryable
	e.Hint = "the API allows 1,200 requests in five minutes to all that use the credential's account together: see what else uses it"
	if e.After == 0 {
		e.After = block
		a.limiter.Hold(block)
	}
	return a.withText(f, e)
}
