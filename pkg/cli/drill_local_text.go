package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"sidestep/pkg/drill"
	"sidestep/pkg/record"
)

// localAnswer is the JSON of a drill on loopback.
type localAnswer struct {
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	From      string     `json:"from"`
	To        string     `json:"to"`
	Protocol  string     `json:"protocol"`
	TLS       bool       `json:"tls"`
	TTL       float64    `json:"ttl_ms"`
	Negative  float64    `json:"negative_ttl_ms"`
	Attempts  int        `json:"attempts"` // more than one: this machine stood still for longer than a TTL
	Rows      []localRow `json:"rows"`
	Held      bool       `json:"held"`
	NotTested []string   `json:"not_tested"`
}

type localRow struct {
	Row     int     `json:"row"`
	Event   string  `json:"event"`
	What    string  `json:"what"`
	Reached bool    `json:"reached"`
	Held    bool    `json:"held"`
	Seen    string  `json:"seen"`
	At      float64 `json:"at_ms"`
}

// localNotTested is what the experiment says nothing about.
var localNotTested = []string{
	"resolvers that stretch a TTL, or serve what is over while they fetch anew",
	"the caches and open connections of browsers, libraries and proxies",
	"the way to your servers: all of this was on loopback",
}

func (a *app) printTimeline(t *drill.Timeline) error {
	failed := error(nil)
	if !t.Held() {
		failed = errors.New("drill: the order did not hold: see the row")
	}
	if a.json {
		return errors.Join(a.printJSON(describeTimeline(t)), failed)
	}
	over := t.Protocol
	if t.TLS {
		over += " over TLS"
	}
	fmt.Fprintf(a.io.Out, "%s moves from A (%s) to B (%s); TTL %s, negative TTL %s; %s\n\n", t.Name.Unrooted(), t.A, t.B, t.TTL, t.Negative, over)
	rows := [][]string{{"", "TIME", "WHAT HAPPENED", "SEEN BY"}}
	for i, r := range t.Rows {
		at, seen := fmt.Sprintf("%.3fs", r.At.Seconds()), r.Seen
		switch {
		case !r.Reached:
			at, seen = "", "not played"
		case !r.Held:
			seen = "DID NOT HOLD; seen instead: " + r.Seen
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), at, r.What, seen})
	}
	a.table(rows)
	if failed != nil {
		return failed
	}
	fmt.Fprintln(a.io.Out, "\nevery row held, in this order")
	if t.Attempts > 1 {
		fmt.Fprintf(a.io.Out, "it was begun %d times: this machine stood still for longer than a TTL\n", t.Attempts)
	}
	a.printNotTested(localNotTested)
	return nil
}

func (a *app) printNotTested(list []string) {
	fmt.Fprintln(a.io.Out, "\nnot tested:")
	for _, what := range list {
		fmt.Fprintf(a.io.Out, "- %s\n", what)
	}
}

func describeTimeline(t *drill.Timeline) localAnswer {
	answer := localAnswer{
		Name: string(t.Name), Type: string(record.A), From: t.A, To: t.B, Protocol: t.Protocol, TLS: t.TLS,
		TTL: milliseconds(t.TTL), Negative: milliseconds(t.Negative), Attempts: t.Attempts,
		Rows: []localRow{}, Held: t.Held(), NotTested: localNotTested,
	}
	for i, r := range t.Rows {
		answer.Rows = append(answer.Rows, localRow{
			Row: i + 1, Event: string(r.Event), What: r.What, Reached: r.Reached, Held: r.Held, Seen: r.Seen, At: milliseconds(r.At),
		})
	}
	return answer
}

// milliseconds are rounded to three digits behind the point.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
