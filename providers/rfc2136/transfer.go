package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
)

// What a transfer may amount to. A zone of a registry is larger; nobody steers
// one, and a server gone mad must not fill the memory.
const (
	maxRecords = 2_000_000
	maxOctets  = 256 << 20
)

// axfr reads the zone whole (RFC 5936) and shows each record once, the SOA
// first. What visit was shown is worth nothing when the transfer fails.
func (a *Adapter) axfr(ctx context.Context, visit func(resource)) error {
	x := exchange{op: fmt.Sprintf("transfer zone %s from %s", a.zone, a.transfer), key: a.key}
	if err := a.limiter.Read(ctx); err != nil {
		return err
	}
	c, err := dial(ctx, a.transfer)
	if err != nil {
		return lost(x.op, err)
	}
	defer c.end()
	query := new(dns.Msg)
	query.SetAxfr(string(a.zone))
	x.signed = a.now()
	wire, mac, err := a.key.sign(query, x.signed)
	if err != nil {
		return &provider.Error{Class: provider.Permanent, Op: x.op, Err: err}
	}
	if _, err := c.send(wire); err != nil {
		return lost(x.op, err)
	}
	seen := &sequence{apex: string(a.zone), visit: visit}
	replies := &chain{key: a.key, now: a.now, prior: mac}
	for !seen.done {
		if err := a.receivePart(c, x, query.Id, seen, replies); err != nil {
			return err
		}
	}
	return nil
}

// receivePart takes one message of a transfer.
func (a *Adapter) receivePart(c *conn, x exchange, id uint16, seen *sequence, replies *chain) error {
	wire, err := c.receive()
	if err != nil {
		return lost(x.op, fmt.Errorf("cut short after %d records: %w", seen.records, err))
	}
	m, err := reply(wire, id)
	if err != nil {
		return lost(x.op, err)
	}
	order := seen.take(m)
	if err := x.judge(m, replies.next(m, seen.done)); err != nil {
		return err
	}
	if errors.Is(order, errHuge) {
		return &provider.Error{Class: provider.Permanent, Op: x.op, Err: order}
	}
	if order != nil {
		return lost(x.op, order)
	}
	return nil
}

// reply reads a message that has to be the answer to a request.
func reply(wire []byte, id uint16) (*message, error) {
	m, err := parseMessage(wire)
	if err != nil {
		return nil, err
	}
	if m.id != id || !m.response {
		return nil, fmt.Errorf("expected the reply to request %d, got message %d", id, m.id)
	}
	return m, nil
}

// sequence watches that a transfer is whole: it begins with the zone's SOA and
// ends with the same one (RFC 5936 section 2.2).
type sequence struct {
	apex    string
	visit   func(resource)
	first   string // rdata of the first SOA
	begun   bool
	done    bool
	records int
	octets  int
}

var errHuge = fmt.Errorf("more than %d records or %d MiB", maxRecords, maxOctets>>20)

// take shows a message's records; its error is about their order.
func (s *sequence) take(m *message) error {
	if s.octets += len(m.wire); s.octets > maxOctets {
		return errHuge
	}
	if len(m.answer) == 0 && !s.begun {
		return fmt.Errorf("expected the SOA of %s first, got an empty answer", s.apex)
	}
	for _, r := range m.answer {
		if err := s.record(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *sequence) record(r resource) error {
	atSOA := r.kind == dns.TypeSOA && strings.EqualFold(r.owner, s.apex)
	switch {
	case s.done:
		return fmt.Errorf("expected nothing after the second SOA, got %s", r)
	case !s.begun && !atSOA:
		return fmt.Errorf("expected the SOA of %s first, got %s", s.apex, r)
	case s.begun && atSOA:
		return s.close(r)
	}
	if atSOA {
		soa, err := r.rdata()
		if err != nil {
			return fmt.Errorf("read %s: %w", r, err)
		}
		s.first, s.begun = soa, true
	}
	if s.records++; s.records > maxRecords {
		return errHuge
	}
	s.visit(r)
	return nil
}

func (s *sequence) close(r resource) error {
	last, err := r.rdata()
	if err != nil {
		return fmt.Errorf("read %s: %w", r, err)
	}
	if last != s.first {
		return fmt.Errorf("the zone changed under the transfer: it began with serial %d and ended with %d", serialOf(s.first), serialOf(last))
	}
	s.done = true
	return nil
}
