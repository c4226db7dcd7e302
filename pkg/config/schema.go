package config

import (
	"math"
	"time"

	"sidestep/pkg/check"
)

// schema is the whole config: every key, what it takes, its default and its
// meaning. CONFIG.md is made from it.
var schema = object(
	field{name: "node", kind: object(nodeKeys...), doc: "who this sidestep is"},
	field{name: "state", kind: object(stateKeys...), doc: "where it keeps what it has to remember"},
	field{name: "control", kind: object(controlKeys...), doc: "how commands and people reach the daemon"},
	field{name: "leader", kind: object(leaderKeys...), doc: "how the one node that may write is chosen"},
	field{name: "etcd", kind: object(etcdKeys...), doc: "an etcd that several nodes share"},
	field{name: "reconcile", kind: object(reconcileKeys...), doc: "the rhythm of writing"},
	field{name: "canary", kind: object(canaryKeys...), doc: "targets that tell whether this node sees the world at all"},
	field{name: "defaults", kind: object(defaultKeys...), doc: "what a check has that does not say otherwise"},
	field{name: "guard", kind: object(guardKeys...), doc: "limits that stand between plan and write"},
	field{name: "adopt", kind: choice("ask", "auto"), def: "ask", doc: "the first plan that takes a usable live value out of a record set waits for a person (ask) or does not (auto); once sidestep has paused any value of it, a dead one too, none waits"},
	field{name: "zones", kind: listOf(object(zoneKeys...)), need: true, doc: "the zones that hold the record sets"},
	field{name: "checks", kind: named("checks", object(checkKeys...)), doc: "how and how often to probe"},
	field{name: "sites", kind: named("sites", object(siteKeys...)), doc: "data centres: what reaches them, and how they come back"},
	field{name: "scenarios", kind: named("scenarios", object(scenarioKeys...)), doc: "conditions for answers, from verdicts and sites; what is not known stays so, unless the rest settles it"},
	field{name: "records", kind: listOf(object(recordKeys...)), doc: "the record sets that sidestep steers"},
	field{name: "notify", kind: listOf(object(notifyKeys...)), doc: "who is told", text: notifyText},
	field{name: "ping", kind: object(pingKeys...), doc: "a dead man's switch, fed by the loop that works", text: pingText},
)

// hostWord is what a node or vantage is called: printable, no spaces, because
// it goes into the zone's stamp.
func hostWord() *kind {
	return pattern("a name of letters, digits, ., _ and -", `[A-Za-z0-9._-]{1,63}`)
}

var nodeKeys = []field{
	{name: "name", kind: hostWord(), word: "the host name", doc: "name of this node in the zone's stamp, in status and in the journal"},
	{name: "vantage", kind: hostWord(), word: "the node's name", doc: "where this node looks from: what vantages know it by, each node by another name"},
}

var stateKeys = []field{
	{name: "dir", kind: path("a directory"), def: "/var/lib/sidestep", doc: "state, journal and lock file; relative to the config's folder"},
	{name: "max_age", kind: duration(0), def: "15m", doc: "verdicts that are older are not taken up at a start; what persons said always is"},
}

var controlKeys = []field{
	{name: "socket", kind: path("a socket's path"), def: DefaultSocket, doc: "the unix socket where commands talk to the daemon; relative to the config's folder, 107 bytes at most"},
	{name: "listen", kind: listen(), word: DefaultListen + " where there are tokens, else off", doc: "/api/v1, /metrics and /healthz over TCP; a port that another process has is said, and tried again"},
	{name: "tokens", kind: listOf(object(
		field{name: "name", kind: label("a name"), need: true, doc: "who this is, in the journal"},
		field{name: "role", kind: choice("read", "operate"), need: true, doc: "what the token is good for"},
		field{name: "token", kind: secret(), need: true, doc: "the token, a text that nobody can guess: openssl rand -hex 32"},
	)), doc: "who may use the API over TCP; read looks, operate changes as well; a reload takes up other tokens"},
	{name: "tls", kind: object(
		field{name: "cert", kind: path("a PEM file"), need: true, doc: "certificate"},
		field{name: "key", kind: path("a PEM file"), need: true, doc: "its key"},
	), doc: "needed to listen elsewhere than on loopback; a reload takes up a renewed certificate"},
}

var leaderKeys = []field{
	{name: "lock", kind: choice("file", "zone", "etcd", "none"), def: "file", doc: "what keeps two sidesteps from writing at once: a lock file in state.dir (one host), the zone's stamp, etcd, or nothing; that no node is known to lead is an alarm of every node, in status, log and journal, after lease and safety (15s of it when auto) with etcd, after the time within which a standby takes over with zone (validate says it), and after 30s with file"},
	{name: "i_am_alone", kind: boolean(), def: "false", doc: "your word that no other sidestep writes to these zones; needed for lock: none"},
	{name: "lease", kind: duration(10 * time.Second), def: "30s", doc: "only with lock: etcd: a leader that etcd hears nothing of for so long is replaced, and stops before; no call to a provider is given longer than about two thirds of it"},
	{name: "safety", kind: autoDuration(), def: "auto", doc: "only with lock: etcd: how long a new leader adds and takes nothing away, for calls of the leader before that come late; auto is the shortest time that is safe in each zone, which validate works out, and 15s where the provider compares and swaps, at most until it did so first"},
	{name: "heartbeat", kind: duration(time.Second), word: "30s; 60s at rfc2136", doc: "only with lock: zone: how often the leader renews its stamp when it writes nothing else"},
	{name: "takeover", kind: duration(time.Second), word: "120s; 240s at rfc2136", doc: "only with lock: zone: a stamp that a standby saw unchanged for so long is taken over"},
	{name: "poll", kind: duration(time.Second), word: "10s", doc: "only with lock: zone: how often a standby looks at the stamp"},
}

func autoDuration() *kind {
	d := duration(0)
	return &kind{word: "auto, or " + d.word, parse: func(s string) (any, *fault) {
		if s == "auto" {
			return s, nil
		}
		return d.parse(s)
	}}
}

var etcdKeys = []field{
	{name: "endpoints", kind: listOf(etcdURL()), need: true, doc: "the members, all http or all https; the port is 2379 unless it is given; http only to loopback or with insecure: true"},
	{name: "prefix", kind: text("a key prefix"), def: "/sidestep", doc: "in front of every key"},
	{name: "tls", kind: object(
		field{name: "ca", kind: path("a PEM file"), doc: "who signs the members"},
		field{name: "cert", kind: path("a PEM file"), doc: "certificate of this node"},
		field{name: "key", kind: path("a PEM file"), doc: "its key"},
	), doc: "how TLS is spoken where the endpoints are https; without it the members' certificates have to be signed by an authority that this host trusts"},
	{name: "user", kind: text("a user name"), doc: "who signs in; may read and write below prefix/"},
	{name: "password", kind: secret(), doc: "the user's password"},
	{name: "insecure", kind: boolean(), def: "false", doc: "your word that a plain connection is meant"},
}

var reconcileKeys = []field{
	{name: "debounce", kind: duration(0), def: "1s", doc: "from the first change to the write; later changes do not prolong it"},
	{name: "every", kind: duration(time.Second), def: "5m", doc: "the zone is compared again though nothing changed"},
	{name: "retry", kind: object(
		field{name: "base", kind: duration(100 * time.Millisecond), def: "1s", doc: "first pause after an error that may pass"},
		field{name: "max", kind: duration(100 * time.Millisecond), def: "30s", doc: "longest such pause; where only a person can help, as with a key that was revoked, it is 30s to 1m at least"},
	), doc: "pauses between attempts; each is twice the last"},
}

var canaryKeys = []field{
	{name: "targets", kind: listOf(object(
		field{name: "tcp", kind: hostPort(false, "53"), doc: "an address and port that takes connections always"},
		field{name: "http", kind: httpURL(), doc: "a URL that answers always, whatever it answers below status 500; one with an address is asked also while the resolver fails"},
	)), need: true, doc: "what is probed, each within 2s, every 5s and before a target goes down; best outside your own network, each for a reason of its own"},
	{name: "need", kind: count(1, math.MaxInt32), def: "1", doc: "how many of them must answer; after two rounds with fewer this node is blind: results since the last good round count as unknown, and nothing is written; with lock: etcd a node that stays blind for 15s more leaves the lead to one that sees, if one is heard, and with every other lock it keeps it"},
}

var defaultKeys = []field{
	{name: "interval", kind: duration(check.MinInterval), def: "10s", doc: "from the start of a probe to the start of the next"},
	{name: "timeout", kind: duration(time.Millisecond), word: "5s, or half the interval if that is less", doc: "one deadline over everything a probe does"},
	{name: "fall", kind: count(1, math.MaxInt32), def: "3", doc: "failures in a row that bring a target down"},
	{name: "rise", kind: count(1, math.MaxInt32), def: "3", doc: "passes in a row that bring it up"},
}

var guardKeys = []field{
	{name: "mass", kind: orOff(object(
		field{name: "percent", kind: percent(), def: "50", doc: "strictly more than this share of the addresses that the node probes"},
		field{name: "at_least", kind: count(1, math.MaxInt32), def: "3", doc: "and at least so many"},
		field{name: "within", kind: duration(0), def: "2m", doc: "going down in this time"},
		field{name: "confirm", kind: count(1, math.MaxInt32), def: "2", doc: "each of them then needs so many more failures in a row to go down; one pass clears it"},
	)), doc: "addresses that fail together are suspected, and kept as they are, before they are believed: this node may be at fault; 0 switches the guard off"},
	{name: "max_changes", kind: count(0, math.MaxInt32), def: "0", doc: "record sets that one plan of a zone may change; 0 is no limit"},
	{name: "max_writes", kind: orOff(object(
		field{name: "count", kind: count(0, math.MaxInt32), def: "6", doc: "so many writes; 0 switches the limit off as well"},
		field{name: "window", kind: duration(time.Second), def: "10m", doc: "in any time as long as this"},
	)), doc: "writes per record set; 0 switches the limit off"},
}

var notifyKeys = []field{
	{name: "url", kind: secret(), need: true, doc: "where to, of one of the forms above"},
	{name: "on", kind: oneOrMore(choice("down", "up", "write", "guard", "leader", "override-old")), word: "all of them", doc: "what about"},
	{name: "template", kind: text("a template of Go's text/template that makes JSON"), word: "all that there is", doc: "only of a webhook: what is posted"},
	{name: "insecure", kind: boolean(), def: "false", doc: "your word that a connection without TLS is meant"},
}

var pingKeys = []field{
	{name: "url", kind: secret(), need: true, doc: "what is called, by GET; an answer of status 2xx is one"},
	{name: "every", kind: duration(time.Second), def: "1m", doc: "how often"},
	{name: "insecure", kind: boolean(), def: "false", doc: "your word that a connection without TLS is meant"},
}
