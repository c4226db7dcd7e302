package cloudflare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

// envelope is what every answer of the API comes in. What is not there is nil.
type envelope struct {
	Success    *bool           `json:"success"`
	Errors     []apiError      `json:"errors"`
	Result     json.RawMessage `json:"result"`
	ResultInfo *pageInfo       `json:"result_info"`
}

// pageInfo says how much of a list an answer is.
type pageInfo struct {
	Count      *int `json:"count"`
	TotalCount *int `json:"total_count"`
	TotalPages *int `json:"total_pages"`
}

// call is one request that is small in both directions.
type call struct {
	op     string
	method string
	path   string
	query  url.Values
	body   any
	token  provider.Secret
	gate   provider.Gate
}

// do makes a request once and gives the result of its answer.
func (a *Adapter) do(ctx context.Context, c call) (*envelope, error) {
	request := httpapi.Request{
		Op: c.op, Method: c.method, Path: c.path, Query: c.query, Write: c.method != http.MethodGet,
		Gate: c.gate, Sign: sign(c.token), Header: http.Header{"Accept": {"application/json"}},
	}
	if c.body != nil {
		body, err := json.Marshal(c.body)
		if err != nil {
			return nil, provider.Failf(provider.Permanent, c.op, "", "%w", err)
		}
		request.Body = body
		request.Header.Set("Content-Type", "application/json")
	}
	reply, err := a.client.Do(ctx, request)
	if err != nil {
		return nil, err
	}
	return a.open(c.op, request.Write, reply)
}

// open reads an answer.
func (a *Adapter) open(op string, write bool, reply *httpapi.Reply) (*envelope, error) {
	f := failure{op: op, write: write, status: reply.Status, header: reply.Header, body: reply.Body}
	out := new(envelope)
	err := json.Unmarshal(reply.Body, out)
	if err == nil && out.Success == nil {
		err = errors.New("an answer without the field success")
	}
	switch {
	case err != nil && reply.Status == http.StatusOK:
		return nil, a.unreadable(op, write, reply, err)
	case err != nil:
		return nil, a.classify(f)
	}
	f.read, f.errors = true, out.Errors
	if reply.Status != http.StatusOK || !*out.Success {
		return nil, a.classify(f)
	}
	return out, nil
}

func (a *Adapter) unreadable(op string, write bool, reply *httpapi.Reply, err error) error {
	if page := httpapi.Page(reply.Header, reply.Body); page != nil {
		return httpapi.Unreadable(op, write, reply.Status, page)
	}
	return httpapi.Unreadable(op, write, reply.Status, fmt.Errorf("%w: %q", err, a.said(string(reply.Body))))
}

// listLimit bounds the page that a whole zone comes in, in bytes: about a
// million records.
const listLimit = 512 << 20

// stream reads a list as it comes. Each record is handed over when it is read;
// the answer is a list only when stream returns no error.
func (a *Adapter) stream(ctx context.Context, op, path string, query url.Values, each func(*wire)) error {
	request := httpapi.Request{
		Op: op, Method: http.MethodGet, Path: path, Query: query, Sign: sign(a.token), Limit: listLimit,
		Header: http.Header{"Accept": {"application/json"}},
	}
	return a.client.Stream(ctx, request, func(status int, header http.Header, body io.Reader) error {
		if status != http.StatusOK {
			data, err := io.ReadAll(body)
			if err != nil {
				return err
			}
			_, err = a.open(op, false, &httpapi.Reply{Status: status, Header: header, Body: data})
			return err
		}
		p := newParser(body, each)
		if err := p.run(); err != nil {
			if bytes.HasPrefix(bytes.TrimSpace(p.beginning()), []byte("<")) {
				err = errors.New("an HTML page")
			}
			return err
		}
		if !p.success {
			return a.classify(failure{op: op, status: status, header: header, errors: p.errors, read: true})
		}
		return p.whole()
	})
}
