package route53

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

// request is one call of the API.
type request struct {
	op    string
	write bool
	page  bool // of record sets: read by our own reader
	gate  provider.Gate
}

// exchange is the HTTP side of one request: what the SDK sends through it, once,
// signed, and what came back. It asks the gate, last.
type exchange struct {
	http    *http.Client
	gate    provider.Gate
	sent    httpapi.Sent
	began   time.Time // when the SDK handed the request over; zero when it never did
	stopped error     // the gate's error
	reply   *httpapi.Reply
}

// maxBody is the largest answer that is read: a page of 300 sets of 400 long
// values would be smaller.
const maxBody = 64 << 20

// Do is called by the SDK.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	x.began = time.Now()
	if x.gate != nil {
		if x.stopped = x.gate(); x.stopped != nil {
			return nil, x.stopped
		}
	}
	response, err := x.http.Do(r.WithContext(x.sent.Trace(r.Context())))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && len(body) > maxBody {
		err = errors.New("the answer is larger than expected")
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	x.reply = &httpapi.Reply{Status: response.StatusCode, Header: response.Header, Body: body}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// call makes one request, at most once, and classes what becomes of it. Once it
// is its turn it has the time of one call: a list has longer for all of its
// requests, and must not hang at one of them.
func (a *Adapter) call(ctx context.Context, r request, do func(context.Context, *sdk.Client, func(*sdk.Options)) error) error {
	way, err := a.reach()
	if err != nil {
		return err
	}
	wait := a.limiter.Read
	if r.write {
		wait = a.limiter.Write
	}
	if err := wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	x := &exchange{http: way.http, gate: r.gate}
	err = do(ctx, way.api, func(o *sdk.Options) {
		o.HTTPClient = x
		o.Retryer = aws.NopRetryer{}
		if r.page {
			o.APIOptions = append(o.APIOptions, fastList(x))
		}
	})
	switch {
	case x.stopped != nil:
		return x.stopped
	case err != nil:
		err = a.classify(ctx, r, x, err)
		a.lookAgain(way, err)
		return err
	}
	return x.answered(r)
}

// answered holds an answer that the SDK could read against what the API sends:
// any XML will do for the SDK, a page for people as well.
func (x *exchange) answered(r request) error {
	if err := httpapi.Page(x.reply.Header, x.reply.Body); err != nil {
		return httpapi.Unreadable(r.op, r.write, x.reply.Status, err)
	}
	return nil
}
