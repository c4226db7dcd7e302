package config

import (
	"crypto/tls"
	"fmt"
	"net/netip"
)

// DefaultListen is control.listen where the config names tokens and no other.
const DefaultListen = "127.0.0.1:9953"

// shortToken is how many bytes a token has at least that nobody warns of.
const shortToken = 16

// overTCP reads who may use the API over TCP, and where.
func (b *builder) overTCP(control *item) {
	c := &b.cfg.Control
	for _, it := range control.at("tokens").each() {
		b.token(it)
	}
	listen := control.at("listen")
	switch value := listen.value.(type) {
	case string:
		c.Listen = value
	case off:
	default:
		if len(c.Tokens) > 0 && listen.shape == absent {
			c.Listen = DefaultListen
		}
	}
	b.servedTLS(control.at("tls"))
	at, err := netip.ParseAddrPort(c.Listen)
	if err == nil && !at.Addr().IsLoopback() && c.TLS.Files.Cert == "" {
		b.fail(listen.pos, listen.path(), fmt.Sprintf("%s is not loopback: tokens would be sent for everybody to read", c.Listen), "add tls: {cert: FILE, key: FILE}, or listen on "+DefaultListen)
	}
}

func (b *builder) token(it *item) {
	t := Token{Name: get[string](it.at("name")), Role: get[string](it.at("role")), Token: b.secret(it.at("token"))}
	secret := it.at("token")
	for _, other := range b.cfg.Control.Tokens {
		if t.Name != "" && other.Name == t.Name {
			b.fail(it.at("name").pos, it.at("name").path(), fmt.Sprintf("there are two tokens of the name %s", t.Name), "choose another name: the journal tells them apart by it")
		}
		if t.Token.Reveal() != "" && other.Token.Reveal() == t.Token.Reveal() {
			b.warn(secret.pos, secret.path(), fmt.Sprintf("it is the token of %s as well: nothing tells the two apart", other.Name), "give each a token of its own")
		}
	}
	if n := len(t.Token.Reveal()); n > 0 && n < shortToken {
		b.warn(secret.pos, secret.path(), fmt.Sprintf("the token has fewer than %d bytes and can be guessed", shortToken), "openssl rand -hex 32 prints a good one")
	}
	b.cfg.Control.Tokens = append(b.cfg.Control.Tokens, t)
}

func (b *builder) servedTLS(it *item) {
	if it.shape != mapping {
		return
	}
	t := &b.cfg.Control.TLS
	key := it.at("key")
	t.Cert, t.Files.Cert = b.certificates(it.at("cert"))
	t.Key, t.Files.Key = b.privateKey(key)
	if len(t.Cert) > 0 && len(t.Key) > 0 {
		if _, err := tls.X509KeyPair(t.Cert, t.Key); err != nil {
			b.fail(key.pos, key.path(), fmt.Sprintf("%s is not the key of %s: %v", quote(t.Files.Key), quote(t.Files.Cert), err), "")
		}
	}
}

func showControl(c Control) shown {
	out := shown{{"socket", c.Socket}, {"listen", c.Listen}}
	if len(c.Tokens) > 0 {
		tokens := []shown{}
		for _, t := range c.Tokens {
			tokens = append(tokens, shown{{"name", t.Name}, {"role", t.Role}, {"token", t.Token}})
		}
		out = out.with("tokens", tokens)
	}
	if c.TLS.Files.Cert != "" {
		out = out.with("tls", shown{{"cert", c.TLS.Files.Cert}, {"key", c.TLS.Files.Key}})
	}
	return out
}
