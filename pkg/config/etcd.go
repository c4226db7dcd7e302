package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/provider"
)

// Etcd is the etcd that several nodes share; without Endpoints there is none.
type Etcd struct {
	Endpoints []string // URLs of the members with their ports, in the order of the file; all http or all https
	Prefix    string   // in front of every key, without a slash at its end
	TLS       check.TLS
	Files     TLSFiles // where TLS was read from
	User      string   // who signs in; empty for nobody
	Password  provider.Secret
	Insecure  bool // http to others than loopback is meant
}

const etcdPort = "2379"

// etcdURL takes the URL of a member.
func etcdURL() *kind {
	const word = "a URL such as https://etcd-1.example.net:2379"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			return nil, faultf("expected %s, got another text", word) // which may hold a password
		case u.User != nil:
			return nil, faultf("a user name or password in the URL is not sent").advise("give etcd.user and etcd.password")
		case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
			return nil, faultf("expected %s, got one with more behind the port", word).advise("give etcd.prefix for the keys")
		}
		port := u.Port()
		if port == "" {
			port = etcdPort
		}
		return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port), nil
	}}
}

func (b *builder) etcd(root *item) {
	b.leaseTimes(root.at("leader"))
	it := root.at("etcd")
	if lock := root.at("leader", "lock"); !root.has("etcd") {
		if b.cfg.Leader.Lock == LockEtcd {
			b.fail(lock.pos, lock.path(), "lock: etcd needs an etcd", "add etcd: {endpoints: [URL]}")
		}
		return
	}
	if !root.at("leader").has("lock") {
		at := root.at("etcd")
		b.warn(at.keyPos, at.path(), "nodes share what they see and what persons say, and not who writes: without leader the lock is a file of this host, and each host leads",
			"add leader: {lock: etcd}, or leader: {lock: file} if only one host runs the daemon")
	}
	e := &b.cfg.Etcd
	prefix := it.at("prefix")
	if e.Prefix = strings.TrimRight(get[string](prefix), "/"); e.Prefix == "" {
		b.fail(prefix.pos, prefix.path(), "expected a text in front of every key, got none but slashes", "write a name, such as /sidestep")
	}
	e.Insecure = get[bool](it.at("insecure"))
	secure := b.etcdEndpoints(it.at("endpoints"))
	b.etcdTLS(it, secure)
	b.etcdUser(it)
}

// leaseTimes reads what only a lease with a clock has.
func (b *builder) leaseTimes(leader *item) {
	l := &b.cfg.Leader
	for _, key := range []string{"lease", "safety"} {
		if at := leader.at(key); leader.has(key) && l.Lock != LockEtcd {
			b.fail(at.keyPos, at.path(), fmt.Sprintf("this is of lock: etcd, and the lock is %s", l.Lock), "remove it, or say lock: etcd")
		}
	}
	if l.Lock != LockEtcd {
		return
	}
	l.Lease = get[time.Duration](leader.at("lease"))
	safety := leader.at("safety")
	l.Safety, l.SafetyGiven = safety.value.(time.Duration)
	b.cfg.Sources.Safety = safety.pos
}

// etcdEndpoints reports whether the members are reached over TLS.
func (b *builder) etcdEndpoints(endpoints *item) (secure bool) {
	if endpoints.shape == list && len(endpoints.items) == 0 {
		b.fail(endpoints.pos, endpoints.path(), "expected at least one URL, got an empty list", "")
	}
	e := &b.cfg.Etcd
	for i, at := range endpoints.items {
		member := get[string](at)
		if member == "" {
			continue
		}
		scheme, host, _ := strings.Cut(member, "://")
		switch {
		case i > 0 && (scheme == "https") != secure:
			b.fail(at.pos, at.path(), "some members are https and some http: one connection is either", "write all of them alike")
		case scheme == "http" && !isLoopback(host) && !e.Insecure:
			b.fail(at.pos, at.path(), "http to another host: anybody between here and there could read and change who leads", "write https, or insecure: true if that is meant")
		}
		secure = secure || i == 0 && scheme == "https"
		e.Endpoints = append(e.Endpoints, member)
	}
	return secure
}

func (b *builder) etcdTLS(it *item, secure bool) {
	at := it.at("tls")
	if it.has("tls") && !secure && len(b.cfg.Etcd.Endpoints) > 0 {
		b.fail(at.keyPos, at.path(), "there is no TLS: the endpoints are http", "write https:// in endpoints, or remove tls")
		return
	}
	b.cfg.Etcd.TLS, b.cfg.Etcd.Files = b.tls(at, "", "")
}

func (b *builder) etcdUser(it *item) {
	user, password := it.at("user"), it.at("password")
	for _, pair := range [][2]*item{{user, password}, {password, user}} {
		if given, other := pair[0], pair[1]; it.has(given.name) && !it.has(other.name) {
			b.fail(given.keyPos, given.path(), fmt.Sprintf("%s without %s", given.name, other.name), "give both, or neither")
		}
	}
	b.cfg.Etcd.User = get[string](user)
	b.cfg.Etcd.Password = b.secret(password)
}

func showEtcd(e Etcd) any {
	if len(e.Endpoints) == 0 {
		return nil
	}
	out := shown{{"endpoints", e.Endpoints}, {"prefix", e.Prefix}}
	if e.Files != (TLSFiles{}) {
		files := shown{}
		for _, f := range []struct{ key, path string }{{"ca", e.Files.CA}, {"cert", e.Files.Cert}, {"key", e.Files.Key}} {
			if f.path != "" {
				files = files.with(f.key, f.path)
			}
		}
		out = out.with("tls", files)
	}
	if e.User != "" {
		out = out.with("user", e.User).with("password", e.Password)
	}
	return out.with("insecure", e.Insecure)
}

// showLease adds the times of a lease with a clock.
func showLease(out shown, l Leader) shown {
	if l.Lock != LockEtcd {
		return out
	}
	out = out.with("lease", l.Lease)
	if l.SafetyGiven {
		return out.with("safety", l.Safety)
	}
	return out.with("safety", "auto")
}
