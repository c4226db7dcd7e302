package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"sidestep/pkg/observe"
)

// observedLine is one sample, as observe --json prints it.
type observedLine struct {
	At         time.Time         `json:"at"`
	TookMS     float64           `json:"took_ms"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Servers    []observedView    `json:"servers"`
	Resolver   observedView      `json:"resolver"`
	Kept       *observedReply    `json:"kept"`
	New        []observedReply   `json:"new"`
	NotDialled []string          `json:"not_dialled"`
	Late       []observedLate    `json:"late"`
	Events     []observedEvent   `json:"events"`
	Findings   []observedFinding `json:"findings"`
	Gaps       []string          `json:"gaps"`
}

type observedView struct {
	At      time.Time `json:"at"`
	Server  string    `json:"server"`
	Address string    `json:"address"`
	Port    uint16    `json:"port"`
	Outcome string    `json:"outcome"`
	Values  []string  `json:"values"`
	Aliases []string  `json:"aliases"`
	TTLS    *int      `json:"ttl_s"`
	Detail  string    `json:"detail"`
	TookMS  float64   `json:"took_ms"`
}

type observedReply struct {
	Address  string       `json:"address"`
	Port     uint16       `json:"port"`
	Opened   *time.Time   `json:"opened"`
	Requests int          `json:"requests"`
	Protocol string       `json:"protocol"`
	Status   int          `json:"status"`
	Identity string       `json:"identity"`
	Missing  string       `json:"missing"`
	Phase    string       `json:"phase"`
	Cause    string       `json:"cause"`
	Detail   string       `json:"detail"`
	TookMS   float64      `json:"took_ms"`
	Ended    *observedEnd `json:"ended"`
}

type observedEnd struct {
	At      time.Time `json:"at"`
	Address string    `json:"address"`
	By      string    `json:"by"`
	How     string    `json:"how"`
}

type observedLate struct {
	Clock string  `json:"clock"`
	Who   string  `json:"who"`
	ForMS float64 `json:"for_ms"`
}

type observedEvent struct {
	At     time.Time `json:"at"`
	Clock  string    `json:"clock"`
	Who    string    `json:"who"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Detail string    `json:"detail"`
}

type observedFinding struct {
	Seen  string `json:"seen"`
	Look  string `json:"look"`
	Facts string `json:"facts"`
}

// json prints one sample on one line.
func (p *observePrinter) json(line *observe.Timeline, s observe.Sample, events []observe.Event) error {
	out := observedLine{
		At: s.At, TookMS: milliseconds(s.Took), Name: string(p.setup.Name), Type: string(p.setup.Type),
		Servers: []observedView{}, Resolver: describeView(s.Resolver), New: []observedReply{},
		NotDialled: append([]string{}, s.Refused...), Late: []observedLate{}, Events: []observedEvent{}, Findings: []observedFinding{},
		Gaps: append([]string{}, p.setup.gaps(line)...),
	}
	for _, v := range s.Servers {
		out.Servers = append(out.Servers, describeView(v))
	}
	if s.Kept != nil {
		kept := describeReply(*s.Kept)
		out.Kept = &kept
	}
	for _, r := range s.New {
		out.New = append(out.New, describeReply(r))
	}
	for _, l := range s.Late {
		out.Late = append(out.Late, observedLate{string(l.Clock), l.Who, milliseconds(l.For)})
	}
	for _, e := range events {
		out.Events = append(out.Events, observedEvent{e.At, string(e.Clock), e.Who, e.From, e.To, e.Detail})
	}
	for _, f := range line.Findings() {
		out.Findings = append(out.Findings, observedFinding{f.Seen, f.Look, f.Facts})
	}
	encoder := json.NewEncoder(p.a.io.Out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		return fmt.Errorf("print the sample: %w", err)
	}
	return nil
}

func describeView(v observe.View) observedView {
	out := observedView{
		At: v.At, Server: string(v.Server.Name), Address: v.Server.Addr.Addr().String(), Port: v.Server.Addr.Port(), Outcome: string(v.Outcome),
		Values: append([]string{}, v.Values...), Aliases: []string{}, Detail: v.Detail, TookMS: milliseconds(v.Took),
	}
	if !v.Untold {
		out.TTLS = new(int(v.TTL.Seconds()))
	}
	for _, alias := range v.Aliases {
		out.Aliases = append(out.Aliases, string(alias))
	}
	return out
}

func describeReply(r observe.Reply) observedReply {
	out := observedReply{
		Port: r.Address.Port(), Requests: r.Requests, Protocol: r.Protocol, Status: r.Status, Identity: r.Identity, Missing: r.Missing,
		Phase: string(r.Phase), Cause: string(r.Cause), Detail: r.Detail, TookMS: milliseconds(r.Took),
	}
	if r.Address.IsValid() {
		out.Address = r.Address.Addr().String()
	}
	if r.Connected() {
		out.Opened = &r.Opened
	}
	if r.Ended != nil {
		out.Ended = &observedEnd{r.Ended.At, r.Ended.Address.Addr().String(), string(r.Ended.By), r.Ended.How}
	}
	return out
}
