package rfc2136

import (
	"context"
	"encoding/hex"
	"slices"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// update is a dynamic update before it is packed: what must hold in the zone,
// and what then changes, all or nothing (RFC 2136 sections 2.4, 2.5 and 3).
type update struct {
	require []dns.RR
	change  []dns.RR
}

// equals requires that a set is exactly the listed one, or that there is none.
// TTLs are not compared (RFC 2136 section 2.4.2).
func (u *update) equals(id setID, data []string) {
	if len(data) == 0 {
		u.require = append(u.require, bare(id, dns.ClassNONE))
	}
	for _, d := range data {
		u.require = append(u.require, rr(id, 0, d))
	}
}

// unused requires that a name has no record of any type (section 2.4.5).
func (u *update) unused(name record.Name) {
	u.require = append(u.require, bare(setID{name, dns.TypeANY}, dns.ClassNONE))
}

// replace writes a set whole, so that its TTL is the same for every member; an
// empty one is removed.
func (u *update) replace(id setID, set rrset) {
	u.change = append(u.change, bare(id, dns.ClassANY))
	for _, d := range set.data {
		u.change = append(u.change, rr(id, set.ttl, d))
	}
}

// remove takes single records out of a set (section 2.5.4).
func (u *update) remove(id setID, data ...string) {
	for _, d := range data {
		one := rr(id, 0, d)
		one.Header().Class = dns.ClassNONE
		u.change = append(u.change, one)
	}
}

// insert adds single records to a set (section 2.5.1).
func (u *update) insert(id setID, ttl uint32, data ...string) {
	for _, d := range data {
		u.change = append(u.change, rr(id, ttl, d))
	}
}

// draft compares a set and its parked copies with the list, and writes both
// whole where they change.
func (u *update) draft(d *draft) {
	parkedID := setID{provider.ParkedName(d.key.Name), dns.TypeTXT}
	after, parked := d.after(), d.parkedAfter()
	switch {
	case len(d.old.data) > 0:
		u.equals(d.id, d.old.data)
	case d.key.Type == record.CNAME:
		u.unused(d.key.Name)
	default:
		u.equals(d.id, nil)
		u.equals(setID{d.key.Name, dns.TypeCNAME}, nil)
	}
	u.equals(parkedID, d.oldParked.data)
	if len(after.data) > 0 && after.ttl != d.old.ttl || !slices.Equal(after.data, d.old.data) {
		u.replace(d.id, after)
	}
	if !slices.Equal(parked.data, d.oldParked.data) {
		u.replace(parkedID, parked)
	}
}

// rr is a record given by its octets: the packer takes any type in the form
// that is meant for unknown ones.
func rr(id setID, ttl uint32, data string) dns.RR {
	return &dns.RFC3597{
		Hdr:   dns.RR_Header{Name: string(id.name), Rrtype: id.kind, Class: dns.ClassINET, Ttl: ttl},
		Rdata: hex.EncodeToString([]byte(data)),
	}
}

// bare is a record without rdata, whose class says what is meant.
func bare(id setID, class uint16) dns.RR {
	return &dns.ANY{Hdr: dns.RR_Header{Name: string(id.name), Rrtype: id.kind, Class: class}}
}

// message is the update of a zone.
func (u *update) message(zone record.Name) *dns.Msg {
	m := new(dns.Msg)
	m.SetUpdate(string(zone))
	m.Answer, m.Ns = u.require, u.change
	return m
}

// send makes one attempt. The gate is asked when everything is packed and
// signed and the connection stands: nothing comes between it and the first
// octet.
func (a *Adapter) send(ctx context.Context, op string, u *update, gate provider.Gate) error {
	if err := a.limiter.Write(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	c, err := dial(ctx, a.server)
	if err != nil {
		return lost(op, err)
	}
	defer c.end()
	x := exchange{op: op, key: a.key, write: true, signed: a.now()}
	m := u.message(a.zone)
	wire, mac, err := a.key.sign(m, x.signed)
	if err != nil {
		return &provider.Error{Class: provider.Permanent, Op: op, Err: err}
	}
	if gate != nil {
		if err := gate(); err != nil {
			return err
		}
	}
	if left, err := c.send(wire); !left {
		return lost(op, err)
	}
	return a.settle(c, x, m.Id, mac)
}

// settle reads the reply to a request that has left.
func (a *Adapter) settle(c *conn, x exchange, id uint16, mac []byte) error {
	open := func(err error) error { return &provider.Error{Class: x.unsure(), Op: x.op, Err: err} }
	wire, err := c.receive()
	if err != nil {
		return open(err)
	}
	m, err := reply(wire, id)
	if err != nil {
		return open(err)
	}
	replies := chain{key: a.key, now: a.now, prior: mac}
	return x.judge(m, replies.next(m, true))
}

// look asks the server for one TXT set, past every cache.
func (a *Adapter) look(ctx context.Context, name record.Name) ([]string, error) {
	x := exchange{op: "ask " + a.server + " for the stamp of " + string(a.zone), key: a.key}
	if err := a.limiter.Read(ctx); err != nil {
		return nil, err
	}
	c, err := dial(ctx, a.server)
	if err != nil {
		return nil, lost(x.op, err)
	}
	defer c.end()
	query := new(dns.Msg)
	query.SetQuestion(string(name), dns.TypeTXT)
	query.RecursionDesired = false
	x.signed = a.now()
	wire, mac, err := a.key.sign(query, x.signed)
	if err != nil {
		return nil, &provider.Error{Class: provider.Permanent, Op: x.op, Err: err}
	}
	if _, err := c.send(wire); err != nil {
		return nil, lost(x.op, err)
	}
	return a.texts(c, x, query.Id, mac, name)
}

// texts reads the reply to look. That the name is not there is an answer too.
func (a *Adapter) texts(c *conn, x exchange, id uint16, mac []byte, name record.Name) ([]string, error) {
	wire, err := c.receive()
	if err != nil {
		return nil, lost(x.op, err)
	}
	m, err := reply(wire, id)
	if err != nil {
		return nil, lost(x.op, err)
	}
	replies := chain{key: a.key, now: a.now, prior: mac}
	trust := replies.next(m, true)
	if trust == nil && m.rcode == dns.RcodeNameError {
		return nil, nil
	}
	if err := x.judge(m, trust); err != nil {
		return nil, err
	}
	var data []string
	for _, r := range m.answer {
		owner, err := record.ParseName(r.owner)
		if err != nil || owner != name || r.kind != dns.TypeTXT {
			continue
		}
		text, err := r.rdata()
		if err != nil {
			return nil, lost(x.op, err)
		}
		data = append(data, text)
	}
	slices.Sort(data)
	return data, nil
}
