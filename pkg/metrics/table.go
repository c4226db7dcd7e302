package metrics

import "slices"

// SeriesMost is up to how many targets, and record sets, each has series of its own.
const SeriesMost = 1000

// other is what a word is counted as that is in no list.
const other = "other"

// words are those of the labels that are no names of the config.
var words = map[string][]string{
	"result":   {"pass", "fail", "unknown"},
	"cause":    {"refused", "timeout", "reset", "unreachable", "certificate", "auth", "status", "mismatch", "too-large", "loss", "local", other},
	"verdict":  {"up", "down", "suspected", "unknown"},
	"cooldown": {"eligible", "cooling", "probing", "disabled"},
	"guard":    {"adopt", "held", "foreign", "owned", "delegation", "state", "max_writes", "max_changes", "canary", "freeze", "mass", "clock", other},
	"action":   {"create", "resume", "pause", "swap", "ttl", "weight", "remove", other},
	"outcome":  {"ok", "permanent", "retryable", "conflict", "fenced-out", "ambiguous"},
	"call":     {"list", "write", "claim", "prove", "read", "release", other},
	"end":      {"in-sync", "blocked", "unfinished", "failed", "not-leader"},
	"verified": {"yes", "no"},
	"usable":   {"all", "some", "none"},
	"kind":     {"pin", "drain", "force-down", "force-up", "freeze"},
	"state":    {"heard", "silent", "blind"},
	"delivery": {"delivered", "failed", "dropped"},
}

// word bounds a label: a word of its list, or other.
func word(label, text string) string {
	if slices.Contains(words[label], text) {
		return text
	}
	return other
}

// The kinds of metrics, as METRICS.md has them.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// metric is one line of the table.
type metric struct {
	name   string // without prefix
	kind   string
	labels []string
	help   string // what it is, and what to do about it
}

// prefix is that of every name.
const prefix = "sidestep_"

// part is a part of the table that belongs together.
type part struct {
	title   string
	metrics []metric
}

func l(labels ...string) []string { return labels }

// table is every metric, in the order of METRICS.md.
var table = []part{
	{"This process", []metric{
		{"build_info", gauge, l("version", "go"), "Always 1. The version of sidestep, and of the Go that it was built with."},
		{"loop_up", gauge, nil, "1 when the loop that decides everything answered this scrape. At 0 nothing is decided: restart the daemon, and report its log."},
		{"loop_last_turn_timestamp_seconds", gauge, nil, "When the loop did something last before this scrape. It does so at least every minute; when it is older, see sidestep_loop_up."},
		{"config_loaded_timestamp_seconds", gauge, nil, "Since when the config in force is so."},
		{"config_refused", gauge, nil, "1 when the last reload was refused, so that the config before is in force: sidestep validate says why."},
		{"state_unsaved", gauge, nil, "1 when the state could not be saved, so that a restart would not know of what happens now: look at the disk of state.dir."},
		{"state_lost", gauge, nil, "1 when the saved state was corrupt: nothing is resumed before you looked and said sidestep approve all."},
		{"state_errors_total", counter, nil, "Saves of the state that failed."},
		{"journal_errors_total", counter, nil, "Times that the journal could not be written, so that evidence is missing: look at the disk of state.dir."},
	}},
	{"Probes and targets", []metric{
		{"probe_results_total", counter, l("check", "result"), "Probes that ended. Unknown is the fault of this machine and counts neither way; many of them want a look at its network."},
		{"probe_failures_total", counter, l("cause"), "Probes that failed, and those that are unknown, by cause (see sidestep check)."},
		{"probe_seconds", histogram, l("check"), "How long probes took that passed. When it comes near the timeout of the check, that is too short or the targets are slow."},
		{"probes_in_flight", gauge, nil, "Probes under way."},
		{"probes_in_flight_limit", gauge, nil, "The most probes that may be under way: raise LimitNOFILE when there are as many for long."},
		{"probe_lag_seconds", gauge, nil, "The latest start of a probe in the last 10 to 20 seconds. Above an interval this machine is overloaded, and failures do not count."},
		{"probes_late_total", counter, nil, "Probes that began more than an interval late: unknown when they failed."},
		{"probes_skipped_total", counter, nil, "Probes left out because the last one of the target was still under way."},
		{"probes_missed_total", counter, nil, "Probes left out because this process did not run."},
		{"probes_delayed_total", counter, nil, "Probes that waited because as many as may be were under way."},
		{"standstills_total", counter, nil, "Times that this process stood still: the machine was suspended, or is overloaded."},
		{"targets", gauge, l("check", "verdict"), "Targets by verdict. Of several vantages it is what they add up to."},
		{"cooldowns", gauge, l("check", "cooldown"), "Targets by state of their cooldown. Disabled ones are out until sidestep approve ADDRESS."},
		{"verdicts_total", counter, l("check", "verdict"), "Turns of targets to a verdict. A target that goes up and down again and again wants higher fall and rise."},
		{"target_up", gauge, l("check", "address"), "1 while a target is up, 0 while it is down, suspected or not judged. Only of at most 1000 targets, see sidestep_targets_omitted."},
		{"targets_omitted", gauge, nil, "Targets without sidestep_target_up because there are more than 1000; sidestep_targets has them all."},
		{"canary", gauge, l("result"), "1 at the state of the canary. While that is fail this node does not see the world and writes nothing. No series without a canary."},
		{"node_guard", gauge, l("guard"), "1 while canary, mass or clock keep this node from believing its probes; sidestep status says why."},
		{"site_ok", gauge, l("site"), "1 while the state of a site is ok; 0 in maintenance, without one of its signals, or unknown."},
		{"site_waiting", gauge, l("site"), "1 while a site waits after a long outage: sidestep approve SITE, or a fresh check."},
	}},
	{"Record sets, plans and writes", []metric{
		{"record_sets", gauge, l("zone", "usable"), "Record sets by how many of their answers are usable. None means that the name lives on what on_all_down leaves it."},
		{"record_set_usable", gauge, l("zone", "name", "type", "variant"), "Usable answers of a record set. Only of at most 1000 record sets, see sidestep_record_sets_omitted."},
		{"record_set_live", gauge, l("zone", "name", "type", "variant"), "Answers of the config that are live. No series before the zone was listed, and as sidestep_record_set_usable."},
		{"record_sets_omitted", gauge, nil, "Record sets without series of their own because there are more than 1000; sidestep_record_sets has them all."},
		{"zone_listed_timestamp_seconds", gauge, l("zone"), "When a zone was listed last. No series before that. When it is old the API cannot be reached: see the log."},
		{"zone_error", gauge, l("zone"), "1 when a zone could not be listed or written last: sidestep status has the error and the way on."},
		{"pending_changes", gauge, l("zone"), "Changes that are to be written and that no guard stops. At a leader they go within seconds; when they stay see sidestep explain."},
		{"blocked", gauge, l("zone", "guard"), "Refusals of guards in the plan of a zone: sidestep plan has the numbers, and what lets it through."},
		{"plans_total", counter, l("zone"), "Times that a zone was given to the writer because something is to be changed. Fewer than you expect means that nothing changed."},
		{"rounds_total", counter, l("zone", "end"), "Rounds of the writer by their end. Failed wants a look at the log, blocked one at sidestep plan."},
		{"writes_total", counter, l("zone", "action", "outcome"), "Changes sent to the provider. Permanent wants a person: a key, a scope or a limit. Ambiguous is listed again and sent no more from memory."},
		{"write_seconds", histogram, l("zone"), "From when a change was taken up to the provider's answer, of those that were accepted."},
		{"propagation_seconds", histogram, l("zone"), "From the provider's answer to when the last of the name servers answered so, of verified writes."},
		{"verifications_total", counter, l("zone", "verified"), "Writes looked at by the name servers. No means that one did not answer with what was written: sidestep status names it."},
		{"open_calls", gauge, l("zone"), "Values that a call with an unknown outcome may still change. Nothing else is taken out meanwhile."},
		{"api_calls_total", counter, l("zone", "call", "outcome"), "Calls to the adapter of a zone, each of which may be several requests; outcome is ok or the class of the error."},
		{"rate_limit_requests_total", counter, l("provider"), "Requests that were let through the rate limit of a provider."},
		{"rate_limit_wait_seconds_total", counter, l("provider"), "Time that requests waited for the rate limit. Much of it means too many zones for reconcile.every."},
		{"rate_limit_held_seconds", gauge, l("provider"), "For how long the provider refuses calls because there were too many: see who else uses the credential."},
	}},
	{"Who leads, and persons' words", []metric{
		{"leader", gauge, l("zone"), "1 when this node may write the zone. Over all nodes it is to be 1 at exactly one."},
		{"lease_left_seconds", gauge, l("zone"), "What is left of the lease of the zone's leader. No series where this node does not lead, or the lease has no end."},
		{"leaderless_seconds", gauge, l("zone"), "For how long nobody is known to lead the zone, once that is longer than a take-over; nothing that dies is taken out meanwhile."},
		{"two_writers", gauge, l("zone"), "1 while another node writes the zone as well, so that this one does not: stop it, or sidestep reconcile --take-over."},
		{"nodes", gauge, l("state"), "Nodes that share the etcd: heard lately, silent, or blind since their canary fails. No series without an etcd."},
		{"frozen", gauge, nil, "1 while everything is frozen, and nothing is written. Somebody wanted that: sidestep override list says who and until when."},
		{"overrides", gauge, l("kind"), "Overrides in force. Each keeps what the probes say from counting."},
		{"override_oldest_seconds", gauge, l("kind"), "For how long the oldest override of a kind is in force; 0 when there is none. An old one was mostly forgotten."},
	}},
	{"Who is told", []metric{
		{"notify_messages_total", counter, l("receiver", "delivery"), "Messages that arrived (delivered), tries that failed, each of which is made again unless the other side refused (failed), and messages that were given up (dropped): see the log, and try sidestep notify test."},
		{"notify_waiting", gauge, l("receiver"), "Messages that wait for somebody who does not take them now. At 32 the oldest is dropped."},
		{"notify_oldest_seconds", gauge, l("receiver"), "For how long the oldest of them waits; 0 for none. After an hour it is dropped."},
	}},
}

// find is a metric by its name.
func find(name string) metric {
	for _, p := range table {
		for _, m := range p.metrics {
			if m.name == name {
				return m
			}
		}
	}
	return metric{}
}
