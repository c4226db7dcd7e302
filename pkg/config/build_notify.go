package config

import (
	"fmt"
	"time"

	"sidestep/pkg/notify"
	"sidestep/pkg/provider"
)

// Notify is one who is told what happens. It has a Kind and a Host when its secret
// was read, and notify.Parse then takes it.
type Notify struct {
	URL      provider.Secret
	On       []notify.Topic // in the order of notify.Topics
	Template string
	Insecure bool
	Kind     notify.Kind
	Host     string // with a port where one was given
	Masked   string // a URL of this kind and host without a secret
}

// Receiver makes what sends there.
func (n Notify) Receiver() (*notify.Receiver, error) {
	return notify.Parse(notify.Settings{URL: n.URL.Reveal(), Template: n.Template, Insecure: n.Insecure})
}

// Ping is the dead man's switch; without Every there is none.
type Ping struct {
	URL      provider.Secret
	Every    time.Duration
	Insecure bool
	Host     string
	Masked   string
}

// Pinger makes what is called.
func (p Ping) Pinger() (*notify.Ping, error) { return notify.NewPing(p.URL.Reveal(), p.Insecure) }

// notifies reads who is told.
func (b *builder) notifies(it *item) {
	first := map[string]*item{}
	for _, entry := range it.each() {
		if entry.shape != mapping {
			continue
		}
		url := entry.at("url")
		n := Notify{URL: b.secret(url), On: b.topics(entry.at("on")), Template: get[string](entry.at("template")), Insecure: get[bool](entry.at("insecure"))}
		if !n.URL.Empty() {
			if other := first[n.URL.Reveal()]; other != nil {
				b.fail(url.pos, url.path(), "the same URL as that of "+other.path(), "everything would be said twice; give one entry all of its topics")
				continue
			}
			b.receiver(entry, &n)
			if n.URL.Reveal() != n.Masked { // as Show writes it
				first[n.URL.Reveal()] = url
			}
		}
		b.cfg.Notify = append(b.cfg.Notify, n)
	}
}

// receiver tries out what an entry says: first its URL alone, so that each error
// stands at the key it is about.
func (b *builder) receiver(entry *item, n *Notify) {
	url, form := entry.at("url"), entry.at("template")
	plain := *n
	plain.Template = ""
	r, err := plain.Receiver()
	if err != nil {
		b.fail(url.pos, url.path(), err.Error(), "")
		return
	}
	n.Kind, n.Host, n.Masked = r.Kind(), r.Host(), r.Masked()
	if _, err := n.Receiver(); err != nil {
		b.fail(form.pos, form.path(), err.Error(), "")
	}
}

// topics are sorted, and each is there once; all of them where the key is not.
func (b *builder) topics(it *item) []notify.Topic {
	if it.shape == absent {
		return notify.Topics
	}
	asked := map[notify.Topic]bool{}
	for _, one := range it.each() {
		t := notify.Topic(get[string](one))
		if asked[t] && t != "" {
			b.fail(one.pos, one.path(), fmt.Sprintf("%s is there twice", t), "remove one of them")
		}
		asked[t] = true
	}
	var topics []notify.Topic
	for _, t := range notify.Topics {
		if asked[t] {
			topics = append(topics, t)
		}
	}
	if it.shape == list && len(it.items) == 0 {
		b.fail(it.pos, it.path(), "expected at least one topic, got an empty list", "for all of them: remove the key on")
	}
	return topics
}

// ping reads the dead man's switch.
func (b *builder) ping(it *item) {
	if it.shape != mapping {
		return
	}
	url := it.at("url")
	p := Ping{URL: b.secret(url), Every: get[time.Duration](it.at("every")), Insecure: get[bool](it.at("insecure"))}
	if !p.URL.Empty() {
		pinger, err := p.Pinger()
		if err != nil {
			b.fail(url.pos, url.path(), err.Error(), "")
			return
		}
		p.Host, p.Masked = pinger.Host(), pinger.Masked()
	}
	b.cfg.Ping = p
}

func showNotify(list []Notify) any {
	if len(list) == 0 {
		return nil
	}
	entries := []shown{}
	for _, n := range list {
		words := make([]string, len(n.On))
		for i, t := range n.On {
			words[i] = string(t)
		}
		entries = append(entries, shown{{"url", masked(n.Masked)}, {"on", words}, {"template", some(n.Template)}, {"insecure", n.Insecure}})
	}
	return entries
}

func showPing(p Ping) any {
	if p.Every == 0 {
		return nil
	}
	return shown{{"url", masked(p.Masked)}, {"every", p.Every}, {"insecure", p.Insecure}}
}

// masked is a URL that was not read, or one without a secret.
func masked(url string) string {
	if url == "" {
		return "***"
	}
	return url
}
