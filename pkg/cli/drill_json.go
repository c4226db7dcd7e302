package cli

import (
	"time"

	"sidestep/pkg/drill"
)

// drillAnswer is the JSON of a rehearsal.
type drillAnswer struct {
	Name      string       `json:"name"`
	Type      string       `json:"type"`
	Zone      string       `json:"zone"`
	Policy    string       `json:"policy"`
	Target    string       `json:"target"`
	Site      string       `json:"site"`
	Value     string       `json:"value"`
	Before    []string     `json:"before"`
	During    []string     `json:"during"`
	Also      []drillMoved `json:"also"`
	TTL       float64      `json:"ttl_ms"`
	For       float64      `json:"for_ms"`
	Every     float64      `json:"every_ms"`
	Reason    string       `json:"reason"`
	Until     *time.Time   `json:"until"`
	DryRun    bool         `json:"dry_run"`
	Ways      []drillWay   `json:"ways"`
	Restored  bool         `json:"restored"`
	Left      string       `json:"left"`
	Still     string       `json:"still"`
	Stopped   string       `json:"stopped"`
	Next      string       `json:"next"`
	Held      bool         `json:"held"`
	NotTested []string     `json:"not_tested"`
}

type drillMoved struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Out  []string `json:"out"`
	Live []string `json:"live"`
}

type drillWay struct {
	Way      string        `json:"way"`
	From     []string      `json:"from"`
	To       []string      `json:"to"`
	Began    time.Time     `json:"began"`
	Took     float64       `json:"took_ms"`
	Clocks   []drillClock  `json:"clocks"`
	Samples  int           `json:"samples"`
	Requests int           `json:"requests"`
	Failed   int           `json:"failed"`
	Failures []drillFailed `json:"failures"`
	Waits    string        `json:"waits"`
	Waited   []drillWait   `json:"waited"`
}

type drillWait struct {
	For   string     `json:"for"`
	Why   string     `json:"why"`
	Until *time.Time `json:"until"`
	After float64    `json:"after_ms"`
	Took  float64    `json:"took_ms"`
}

type drillClock struct {
	Clock  string   `json:"clock"`
	Who    string   `json:"who"`
	Moved  bool     `json:"moved"`
	Stood  bool     `json:"never_left"`
	After  *float64 `json:"after_ms"`
	Back   int      `json:"fell_back"`
	Seen   string   `json:"seen"`
	Stayed *float64 `json:"stayed_ms"`
	Let    *float64 `json:"retired_ms"`
	Ended  string   `json:"ended"`
}

type drillFailed struct {
	At    float64 `json:"after_ms"`
	Clock string  `json:"clock"`
	Why   string  `json:"why"`
}

func describeDrill(r *drill.Report) drillAnswer {
	answer := drillAnswer{
		Name: string(r.Name), Type: string(r.Type), Zone: string(r.Zone), Policy: r.Policy, Target: r.Target, Site: r.Site, Value: r.Value,
		Before: r.Before, During: r.During, Also: []drillMoved{}, TTL: milliseconds(r.TTL), For: milliseconds(r.For), Every: milliseconds(r.Every), Reason: r.Reason,
		DryRun: r.DryRun, Ways: []drillWay{}, Restored: r.Restored, Left: r.Left, Still: r.Still, Stopped: r.Stopped, Next: r.Next, Held: r.Held(), NotTested: r.NotTested,
	}
	if !r.Until.IsZero() {
		answer.Until = &r.Until
	}
	for _, m := range r.Also {
		answer.Also = append(answer.Also, drillMoved{Name: string(m.Name), Type: string(m.Type), Out: m.Out, Live: m.Live})
	}
	for _, y := range []*drill.Way{r.Out, r.Back} {
		if y != nil {
			answer.Ways = append(answer.Ways, describeWay(y))
		}
	}
	return answer
}

func describeWay(y *drill.Way) drillWay {
	way := drillWay{
		Way: string(y.Direction), From: y.From, To: y.To, Began: y.Began.UTC(), Took: milliseconds(y.Took), Clocks: []drillClock{},
		Samples: y.Samples, Requests: y.Requests, Failed: y.Failed, Failures: []drillFailed{}, Waits: y.Waits(), Waited: []drillWait{},
	}
	for _, w := range y.Waited {
		wait := drillWait{For: w.For, Why: w.Why, After: milliseconds(w.After), Took: milliseconds(w.Took)}
		if !w.Until.IsZero() {
			wait.Until = new(w.Until.UTC())
		}
		way.Waited = append(way.Waited, wait)
	}
	for _, c := range y.Clocks {
		clock := drillClock{Clock: string(c.Clock), Who: c.Who, Moved: c.Moved, Stood: c.Stood, Back: c.Back, Seen: c.Seen, Ended: c.Ended}
		if c.Moved && !c.Stood {
			clock.After = new(milliseconds(c.After))
		}
		if c.Stayed > 0 {
			clock.Stayed = new(milliseconds(c.Stayed))
		}
		if c.Let > 0 {
			clock.Let = new(milliseconds(c.Let))
		}
		way.Clocks = append(way.Clocks, clock)
	}
	for _, f := range y.Failures {
		way.Failures = append(way.Failures, drillFailed{At: milliseconds(f.At), Clock: string(f.Clock), Why: f.Why})
	}
	return way
}
