package daemon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
)

// untoldFor is how long a node whose lock is not in etcd writes nothing after its start
// when etcd does not answer. A freeze may stand there, so it does not begin at once; a
// dead etcd must not stop every failover, so it does not wait for ever.
const untoldFor = 30 * time.Second

// untold is why such a node does not write yet.
func (d *Daemon) untold() error {
	if isClosed(d.told) || d.clock.Boot()-d.began >= untoldFor {
		return nil
	}
	return fmt.Errorf("%w; this node waits for that until %s after its start", errUntold, untoldFor)
}

// untoldNotices are what people should know of a node that has not been among the
// others since its start.
func (d *Daemon) untoldNotices() []string {
	switch {
	case d.options.Config.Leader.Lock == config.LockEtcd || isClosed(d.told):
		return nil
	case d.untold() != nil:
		return []string{fmt.Sprintf("nothing is written until etcd answers, for %s after the start at most: a freeze may have been said", untoldFor)}
	}
	return []string{"etcd has not answered since the start: this node writes without knowing what persons said at the other nodes, a freeze as well; to stop it here: sidestep freeze --for 1h"}
}

// noteUntaken says that nobody who leads has taken a word that all nodes share, where a
// leader that does not hear goes on writing. It belongs to the loop.
func (d *Daemon) noteUntaken(answer *control.Overruled) {
	heard := map[string]time.Duration{}
	var leaders []string
	for _, n := range d.nodes.Nodes() {
		heard[n.Name] = n.Heard
		if n.Leads {
			leaders = append(leaders, n.Name)
		}
	}
	for _, zone := range zonesOf(d.options.Config) {
		if lead := d.zoneLeader(zone); lead != nil && lead.State == "standby" {
			name, _, _ := strings.Cut(lead.Holder, " ")
			leaders = append(leaders, name)
		}
	}
	slices.Sort(leaders)
	leaders = slices.DeleteFunc(slices.Compact(leaders), func(name string) bool { return name == d.options.Config.Node.Name })
	if len(leaders) == 0 {
		noteAll(answer, "noted at every node that hears: nobody is known to lead; one that leads and does not reach etcd has not heard it", control.ExitNotLeader)
		return
	}
	words := make([]string, len(leaders))
	for i, name := range leaders {
		since := "since this one is among the nodes"
		if heard[name] > 0 {
			since = "for " + (d.clock.Boot() - heard[name]).Round(time.Second).String()
		}
		words[i] = fmt.Sprintf("%s, which leads, has not been heard %s and may not have heard it: say it there too", name, since)
	}
	answer.Leader = leaders[0]
	noteAll(answer, strings.Join(words, "\n"), control.ExitNotLeader)
}
