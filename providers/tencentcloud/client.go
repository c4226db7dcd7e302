package tencentcloud

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

const apiVersion = "2021-03-23"

// pageLimit is the largest answer that is read: a page of the most records with
// the longest values.
const pageLimit = 64 << 20

// request is one call of an action of the API.
type request struct {
	op     string
	action string
	params any
	write  bool
	gate   provider.Gate
}

// answer is what each answer of the API has.
type answer struct {
	Error     *apiError `json:"Error"`
	RequestID string    `json:"RequestId"`
}

type apiError struct {
	Code    string `json:"Code"`
	Message string `json:"Message"`
}

func (a *answer) base() *answer { return a }

// reply is an answer of one action.
type reply interface{ base() *answer }

// do sends a request once and decodes the answer. An answer that has the API's
// own error, which comes with status 200 too, is a *provider.Error.
func (a *Adapter) do(ctx context.Context, q request, out reply) error {
	payload, err := json.Marshal(q.params)
	if err != nil {
		return &provider.Error{Class: provider.Permanent, Op: q.op, Err: err}
	}
	var signed time.Time
	got, err := a.client.Do(ctx, httpapi.Request{
		Op: q.op, Method: http.MethodPost, Path: "/", Body: payload, Write: q.write, Gate: q.gate, Limit: pageLimit,
		Header: http.Header{
			"Content-Type": {contentType}, "X-Tc-Action": {q.action}, "X-Tc-Version": {apiVersion}, "X-Tc-Language": {"en-US"},
		},
		Sign: func(r *http.Request) error {
			signed = a.now()
			a.credential.sign(r, payload, signed)
			return nil
		},
	})
	if err != nil {
		return err
	}
	return a.judge(q, got, signed, out)
}

// judge decodes an answer and tells its errors.
func (a *Adapter) judge(q request, got *httpapi.Reply, signed time.Time, out reply) error {
	decoded := decode(got.Body, out)
	said := out.base()
	switch {
	case decoded == nil && said.Error != nil && said.Error.Code != "":
		return a.refusal(q, said, got.Header, signed)
	case got.Status != http.StatusOK:
		return httpapi.Classify(q.op, q.write, got)
	case httpapi.Page(got.Header, got.Body) != nil:
		return httpapi.Unreadable(q.op, q.write, got.Status, httpapi.Page(got.Header, got.Body))
	case decoded != nil:
		return httpapi.Unreadable(q.op, q.write, got.Status, decoded)
	case said.RequestID == "":
		return httpapi.Unreadable(q.op, q.write, got.Status, errors.New("it has no RequestId"))
	}
	return nil
}

// tolerant is a reply that can leave out what it cannot read.
type tolerant interface{ decodeSlowly(body []byte) error }

// decode reads the body of an answer into out. Where a value is of another type
// than it should be, a tolerant reply leaves out what that spoils.
func decode(body []byte, out reply) error {
	if list, isList := out.(*listReply); isList && scanPage(body, list) {
		return nil
	}
	err := json.Unmarshal(body, &struct{ Response any }{out})
	if slow, ok := out.(tolerant); ok {
		if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); mistyped {
			return slow.decodeSlowly(body)
		}
	}
	return err
}
