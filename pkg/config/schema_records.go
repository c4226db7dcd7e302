package config

import (
	"math"
	"time"

	"sidestep/pkg/check"
)

var zoneKeys = []field{
	{name: "zone", kind: zoneName("a zone's name"), need: true, doc: "Unicode or A-labels, any letter case, with or without the final dot"},
	{name: "provider", kind: providerName(), need: true, doc: "where the zone is edited"},
	{name: "insecure", kind: boolean(), def: "false", doc: "your word that a connection without signature or encryption is meant"},
	{name: "late", kind: duration(0), word: "the provider's", doc: "how long after a call was given up it may still take effect"},
	{name: "lag", kind: duration(0), word: "the provider's", doc: "how long a list may show the past"},
	{name: "verify", kind: object(
		field{name: "servers", kind: listOf(hostPort(false, "53")), word: "those of its NS records", doc: "name servers that are asked after a write, instead of the primary that takes updates and those that the NS records lead to; of a primary on loopback or at another port than 53, and of a zone that sidestep serves, the NS records are not followed; one that cannot be reached is no failure of the write"},
		field{name: "dns", kind: boolean(), def: "true", doc: "whether name servers are asked at all"},
	), doc: "who is asked after a write"},

	{name: "server", kind: hostPort(true, "53"), of: "rfc2136", doc: "the primary server that takes updates"},
	{name: "transfer_from", kind: hostPort(true, "53"), of: "rfc2136", word: "server", doc: "the server that the zone is transferred from"},
	{name: "tsig", kind: object(
		field{name: "name", kind: zoneName("a key's name"), need: true, doc: "name of the key"},
		field{name: "algorithm", kind: tsigAlgorithm(), def: "hmac-sha256", doc: "its algorithm"},
		field{name: "secret", kind: secret(), need: true, doc: "the key, in base64"},
	), of: "rfc2136", doc: "the key that signs updates and transfers; needed unless the servers are on loopback or insecure is true"},

	{name: "file", kind: path("a zone file"), of: "local", doc: "the zone file (RFC 1035); relative to the config's folder"},
	{name: "listen", kind: listen(), word: "off", of: "local", doc: `where the embedded server answers, UDP and TCP; "" edits the file only`},

	{name: "endpoint", kind: text("a URL"), of: "cloudflare route53 tencentcloud powerdns ovh", word: "the vendor's", doc: "base URL of the API: everything before the resource path; https or loopback; for ovh also a name: ovh-eu, ovh-ca, ovh-us; of powerdns the web server, http://127.0.0.1:8081 where nothing is said"},
	{name: "api_token", kind: secret(), of: "cloudflare hetzner gandi", doc: "token that may edit the zone"},
	{name: "zone_token", kind: secret(), of: "cloudflare", doc: "token that may find the zone, where api_token may not"},
	{name: "zone_id", kind: text("a zone id"), of: "cloudflare", doc: "the zone's id, so that it need not be looked up"},
	{name: "access_key_id", kind: secret(), of: "route53", doc: "credentials"},
	{name: "secret_access_key", kind: secret(), of: "route53", doc: "credentials"},
	{name: "session_token", kind: secret(), of: "route53 tencentcloud", doc: "credentials that end"},
	{name: "profile", kind: text("a profile's name"), of: "route53", doc: "profile of the shared AWS files"},
	{name: "region", kind: text("a region"), of: "route53", doc: "region that signs"},
	{name: "role_arn", kind: text("an ARN"), of: "route53", doc: "role to assume"},
	{name: "hosted_zone_id", kind: text("a hosted zone id"), of: "route53", word: "the one public zone of that name", doc: "the hosted zone"},
	{name: "secret_id", kind: secret(), of: "tencentcloud", doc: "credentials"},
	{name: "secret_key", kind: secret(), of: "tencentcloud", doc: "credentials"},
	{name: "edition", kind: choice("china", "international"), def: "china", of: "tencentcloud", doc: "which of the two clouds"},
	{name: "api_key", kind: secret(), of: "powerdns", doc: "key of the HTTP API"},
	{name: "application_key", kind: secret(), of: "ovh", doc: "credentials"},
	{name: "application_secret", kind: secret(), of: "ovh", doc: "credentials"},
	{name: "consumer_key", kind: secret(), of: "ovh", doc: "credentials; it must be allowed GET, POST and DELETE on /domain/zone/ZONE/*"},
	{name: "server_id", kind: text("a server id"), def: "localhost", of: "powerdns", doc: "server id of the HTTP API"},
}

// certKeys are what a check that speaks TLS may add.
var certKeys = []field{
	{name: "ca", kind: path("a PEM file"), word: "the system's", doc: "who may sign the server's certificate; relative to the config's folder, as cert and key"},
	{name: "cert", kind: path("a PEM file"), doc: "certificate of the probe, with its chain; needs key"},
	{name: "key", kind: path("a PEM file"), doc: "its key, without a passphrase; a secret"},
	{name: "server_name", kind: hostName(), word: "the host of the URL, or the target", doc: "SNI, and the name or address that the server's certificate must have"},
}

var httpKeys = append([]field{
	{name: "url", kind: httpURL(), need: true, doc: "gives Host, SNI and certificate name, port and path; dialled at the answer's address"},
	{name: "status", kind: oneOrMore(statusRange()), word: "2xx", doc: "what passes; redirects are never followed"},
	{name: "method", kind: pattern("a method in capitals", `[A-Z]{1,20}`), def: "GET", doc: "the request's method"},
	{name: "headers", kind: dict("a mapping of header names to values", secret()), doc: "the request's headers; values are treated as secrets"},
	{name: "body", kind: expression(), doc: "must match somewhere in the body"},
	{name: "json", kind: dict("a mapping of dotted paths to values", anyText("a plain value")), doc: "fields of a JSON body and the values they must have: {data.status: ok}"},
	{name: "body_limit", kind: size(16 << 20), def: "64KiB", doc: "so much of the body is read for body and json"},
	{name: "http2", kind: boolean(), def: "true", doc: "https: offer HTTP/2 beside HTTP/1.1 and speak what the server picks"},
}, certKeys...)

var tcpKeys = append([]field{
	{name: "port", kind: count(1, 65535), need: true, doc: "the port to connect to"},
	{name: "send", kind: text("a text"), doc: "sent as it stands, once connected; for line ends write it in double quotes, where YAML has escapes: \"QUIT\\r\\n\""},
	{name: "expect", kind: expression(), doc: "must match in the first 64 KiB that come; the probe ends with the first match"},
	{name: "tls", kind: boolean(), def: "false", doc: "speak TLS from the start; the server's certificate is always verified"},
}, certKeys...)

var causeWords = []check.Cause{
	check.CauseRefused, check.CauseTimeout, check.CauseReset, check.CauseUnreachable, check.CauseCertificate,
	check.CauseAuth, check.CauseStatus, check.CauseMismatch, check.CauseTooLarge, check.CauseLoss, check.CauseLocal,
}

func causeKeys() []field {
	fields := make([]field, len(causeWords))
	for i, c := range causeWords {
		fields[i] = field{name: string(c), kind: choice("fail", "unknown", "disable"), def: "fail", doc: "what a failure of this cause counts as"}
	}
	fields[len(fields)-1].def = "unknown" // our own fault
	return fields
}

var vantageKeys = []field{
	{name: "of", kind: listOf(hostWord()), need: true, doc: "node.vantage of each node whose word counts"},
	{name: "down", kind: count(1, math.MaxInt32), def: "1", doc: "how many of them must say down"},
}

var checkKeys = []field{
	{name: "http", kind: object(httpKeys...), doc: "an HTTP request; one of http, tcp and icmp"},
	{name: "tcp", kind: object(tcpKeys...), doc: "a TCP connection"},
	{name: "icmp", kind: object(
		field{name: "count", kind: count(1, 100), def: "3", doc: "echo requests of a probe"},
		field{name: "max_loss", kind: percent(), def: "34%", doc: "the loss that still passes; one reply is needed whatever it is"},
	), doc: "ICMP echo requests; needs the sysctl net.ipv4.ping_group_range or CAP_NET_RAW"},
	{name: "interval", kind: duration(check.MinInterval), word: "defaults.interval", doc: "from the start of a probe to the start of the next"},
	{name: "fastinter", kind: duration(check.MinInterval), word: "the interval", doc: "takes the place of the interval after a result that contradicts the verdict, until the verdict turns or is confirmed; below the interval"},
	{name: "timeout", kind: duration(time.Millisecond), word: "defaults.timeout", doc: "one deadline over everything a probe does; below the interval, of which it gets all but 20 ms at most"},
	{name: "fall", kind: count(1, math.MaxInt32), word: "defaults.fall", doc: "failures in a row that bring a target down"},
	{name: "rise", kind: count(1, math.MaxInt32), word: "defaults.rise", doc: "passes in a row that bring it up"},
	{name: "source", kind: address("an address of this host"), word: "the system's choice", doc: "the address probes leave from, for allow lists; a name is then probed at its addresses of this family alone"},
	{name: "cooldown", kind: object(
		field{name: "base", kind: duration(time.Second), def: "30s", doc: "first pause after going down; each is up to a tenth shorter, by chance"},
		field{name: "factor", kind: count(1, 100), def: "2", doc: "each pause is so many times the last; after so long up as max it begins with base again"},
		field{name: "max", kind: duration(time.Second), def: "2m", doc: "longest pause"},
	), word: "off", doc: "a target that is down is left alone between two attempts, unless nothing else of a record set is usable"},
	{name: "causes", kind: object(causeKeys()...), doc: "what a failure counts as, by its cause: fail, unknown (neither way), or disable: the last failure that brings a target down keeps it out until sidestep approve ADDRESS, or another definition of the check"},
	{name: "vantages", kind: object(vantageKeys...), doc: "nodes that judge together what the check probes, each by its own results: down when down of them say so, up when so many say up that the others could not make it down, else it stays as it is; one that is silent or blind counts as neither; needs etcd"},
}

var siteKeys = []field{
	{name: "signals", kind: named("signals", object(
		field{name: "check", kind: label("a check's name"), need: true, doc: "how it is probed"},
		field{name: "targets", kind: listOf(address("an address")), need: true, doc: "what is probed, with one check once, however many signals and answers rest on it"},
		field{name: "need", kind: pattern("any, all, or a number", `any|all|[1-9][0-9]{0,5}`), def: "any", doc: "how many of them must be up for the signal to be true"},
		field{name: "vantages", kind: object(vantageKeys...), doc: "who judges its targets, instead of the check's: nodes inside another site, say; a node that is none of them does not probe them; needs etcd"},
	)), need: true, doc: "the dimensions of its reach: internet, access, wan, lan, or names of your own; the state of the site is the first of these that is so: maintenance, no-internet, no-access, no-wan, no-lan, no-NAME of the others by name, unknown (none is false, and one is not known), ok"},
	{name: "return", kind: object(
		field{name: "after_outage", kind: duration(0), def: "30m", doc: "outages longer than this: from a verdict down to the verdict up, without maintenance; the longest of the site's answers counts, and then all of them wait"},
		field{name: "mode", kind: choice("auto", "approve", "fresh"), def: "approve", doc: "what the site then waits for: nothing, sidestep approve SITE, or the check to pass at the address of each answer (or the approval)"},
		field{name: "check", kind: label("a check's name"), doc: "mode: fresh: the check that proves current data, say by a field of its json; it is probed at the address of each answer"},
	), doc: "how the site comes back after a long outage"},
	{name: "maintenance", kind: reason("the site is out"), doc: "why the site is out, though it may be healthy: its answers leave, and no outage is counted"},
}

var termKind = pattern("a term: [not] NAME, SITE.SIGNAL, or CHECK@ADDRESS", `(?:not +|! *)?[a-z0-9-]+(?:\.[a-z0-9-]+|@[^\s@]+)?`)

var scenarioKeys = []field{
	{name: "any", kind: listOf(object(field{name: "all", kind: listOf(termKind), need: true, doc: "terms that must all hold"})), doc: "groups, of which one must hold; or all"},
	{name: "all", kind: listOf(termKind), doc: "a single group: SITE (its state is ok), SITE.SIGNAL, SITE.maintenance, CHECK (all its targets are up), CHECK@ADDRESS, or another scenario, each with not in front or as a quoted \"!…\""},
}

var answerKeys = []field{
	{name: "value", kind: text("an address or a name"), need: true, doc: "the address, or for CNAME the name; a name is resolved and probed at each of its addresses"},
	{name: "probe", kind: address("an address"), word: "the value", doc: "the address that is probed instead"},
	{name: "site", kind: label("a site's name"), doc: "where it stands: the site's maintenance and return are its own, its state is not, but for a when"},
	{name: "when", kind: label("a scenario's name"), doc: "it is usable only while this holds; while that is not known, it keeps the state that it has"},
	{name: "mode", kind: choice("standby", "backup"), doc: "standby takes part only while its when holds or an override calls it, backup when the others are gone"},
	{name: "weight", kind: count(0, 255), def: "1", doc: "its share, for weighted; what is down is paused whatever its weight"},
}

var recordKeys = []field{
	{name: "name", kind: anyText("a name"), need: true, doc: "the full name, or with zone: a name below it; @ is the zone itself"},
	{name: "zone", kind: zoneName("a zone's name"), word: "the longest zone that holds the name", doc: "the zone, where several hold the name"},
	{name: "type", kind: recordType(), word: "that of the values", doc: "the record type"},
	{name: "variant", kind: text("a line or set identifier"), doc: "which of several sets of one name and type: a line or a set identifier, where the provider has any"},
	{name: "ttl", kind: ttl(), word: "what the provider has", doc: "time to live"},
	{name: "policy", kind: choice("all", "priority", "weighted"), def: "all", doc: "every usable answer, the first in order, or every one by weight; weighted needs a provider that has weights"},
	{name: "check", kind: oneOrMore(label("a check's name")), doc: "the checks of each answer; all must be up"},
	{name: "answers", kind: listOf(orText(text("a value"), object(answerKeys...))), need: true, doc: "the values it may answer with; for priority the order counts"},
	{name: "max_live", kind: count(1, math.MaxInt32), def: "1", doc: "priority: how many at once"},
	{name: "min_live", kind: count(0, math.MaxInt32), def: "1", doc: "so many values stay live, whatever is down"},
	{name: "on_all_down", kind: choice("fallback", "keep", "open", "none"), word: "fallback with a fallback list, else keep", doc: "when nothing is usable: the list, the last live set, every answer, or no answer at all"},
	{name: "fallback", kind: listOf(text("a value")), doc: "values that stand in when nothing is usable; they are not probed"},
	{name: "failback", kind: object(
		field{name: "mode", kind: choice("auto", "manual"), def: "auto", doc: "by itself, or by approval"},
		field{name: "hold", kind: duration(0), def: "5m", doc: "after it was usable without a break for so long"},
	), doc: "priority: when a better answer that came back displaces a worse one"},
	{name: "dr", kind: object(
		field{name: "answers", kind: listOf(text("a value")), need: true, doc: "values that replace the answers; probed as they are, and passed over when down"},
		field{name: "when", kind: label("a scenario"), doc: "while this holds"},
		field{name: "if_none", kind: boolean(), word: "true without when", doc: "while none of the answers is usable"},
	), doc: "disaster recovery"},
	{name: "vantages", kind: object(vantageKeys...), doc: "who judges its answers, instead of the checks'; what is probed with one check at one address can be judged in one way only; needs etcd"},
	{name: "adopt", kind: choice("ask", "auto"), word: "adopt of the file", doc: "as adopt, for this record set"},
}
