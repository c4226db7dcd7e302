// Package pkg draws the house: which rooms there are, who may enter which, and
// the road that one probe's result takes through them. It holds no code. The
// drawing is tested against the tree, and who imports whom against a table, by
// the architecture tests in cmd/sidestep.
//
// # The rooms
//
//	cmd/sidestep/          main, and the tests of the architecture
//	pkg/
//	  vocabulary: values that every room speaks of
//	    record/            zone, name, type, value, TTL; a record set and its answers
//	    check/             what is probed, how and how often; what one probe found
//	  decision core: values in, values out
//	    health/            results in a row become a verdict
//	    scenario/          verdicts become signals, states of sites, and conditions that hold or not
//	    override/          an operator's word, with its reason and its end
//	    steer/             what is usable, and the policy, become the wanted answers, with reasons
//	    plan/              wanted against seen becomes a sorted list of changes, within limits
//	    rto/               how long a switch takes, part by part, worked out from the config
//	    engine/            one event in, effects out; the only owner of state
//	  edges: each does one kind of input or output, behind a small contract
//	    clock/             boot time and wall time, with a fake for tests
//	    probe/             one probe of one target over HTTP, TCP or ICMP
//	      ping/            echo requests over one shared socket
//	      probetest/       what probes cost, for benchmarks
//	    schedule/          which target is due, and a bounded number of workers
//	    provider/          what an adapter to a DNS provider promises
//	      memory/          a provider in memory, the reference for all others
//	      providertest/    the suite that every adapter passes
//	        realserver/    real server programs, run for tests
//	      generic/         any libdns provider, with reduced promises
//	      vendordata/      what a vendor keeps beside a record, in libdns's records
//	      httpapi/         one request to an HTTP API, sent once, its outcome classed
//	        httpfake/      what the fake servers of such APIs have in common
//	    authority/         an authoritative DNS server on loopback
//	      authoritytest/   the same for tests, with one zone each
//	    lease/             who may write: the contract of a leader
//	      etcd/            one of several nodes that share an etcd
//	        etcdtest/      real members, run for tests
//	      file/            one of several processes on a host
//	      none/            always; for one process that is known to be alone
//	      zone/            whose a zone's stamp is, where that is the lease
//	    store/             journal and snapshot on disk; knows bytes, not health
//	    cluster/           what nodes share over an etcd: what each sees, what persons said
//	    reconcile/         the only writer: list, plan, limits, apply, verify
//	    observe/           the clocks of a switch: name servers, resolver, kept and new connection
//	    resolve/           the addresses of a name, as the resolvers of this machine tell them
//	      resolvetest/     a resolver that can be broken, for tests
//	    metrics/           what Prometheus is told
//	    control/           what commands and people ask of a daemon, over a socket and TCP
//	    notify/            chat rooms, mail and webhooks are told what happened
//	    web/               the dashboard: one page over what control answers
//	      webtest/         a module of tests that look at it with a real browser
//	    config/            the config file becomes typed values
//	  assembly
//	    daemon/            the loop that feeds the engine and carries out its effects
//	    simulate/          the same decisions in virtual time, from a timeline of events
//	    lab/               backends that can be broken and mended, and a resolver, on loopback
//	    drill/             a failover rehearsed, and what moves timed apart from what does not
//	    cli/               one file per command
//	      manual/          a command that writes the manual pages
//	    bench/             the daemon under load, beside a floor, against goals
//	      yardstick/       the command of it
//	providers/             the names in the config, and the adapters behind them
//	  cloudflare/          Cloudflare, by its API v4
//	    cloudflaretest/    a strict fake of that API
//	  gandi/               Gandi LiveDNS, through libdns
//	    ganditest/         a fake of its API
//	  hetzner/             Hetzner's DNS Console, through libdns
//	    hetznertest/       a fake of its API
//	  ovh/                 OVHcloud, through libdns
//	    ovhtest/           a fake of its API
//	  local/               a zone that sidestep serves itself
//	  powerdns/            PowerDNS through its HTTP API
//	    powerdnstest/      the real server, run for tests
//	  rfc2136/             any server that takes signed DNS updates
//	    rfc2136test/       real name servers, run for tests
//	  route53/             Amazon Route 53
//	    route53test/       a fake of its API, for tests
//	  tencentcloud/        DNSPod's API: the status of a record pauses it
//	    tencentcloudtest/  the API on loopback, for tests
//	  conformance/         a module of tests that need more dependencies
//	    etcdserver/        a member of an etcd, which the main module's tests run
//
// # Who may enter which room
//
// Vocabulary and core import nothing that can wait, log, read a clock, or touch
// the world: no context, socket, file, lock, goroutine or chance. Times and
// random numbers come in with the event. So every decision is a function that a
// table can test and a script can replay.
//
// pkg never imports providers or cmd; an adapter imports the contract and the
// vocabulary and no other adapter. probe and schedule report facts and do not
// know health; plan compares records and does not know health either. Only
// reconcile calls the writes of an adapter, so there is one place to look at
// when a zone changed. viper stays in config, libdns behind provider, zerolog
// in daemon and cli; the other rooms take a *slog.Logger. Only daemon starts
// goroutines that outlive a call: other rooms expose a Run that blocks.
//
// # The road of one result
//
//  1. schedule takes the due target and a worker, and calls its probe with a
//     deadline below the interval.
//  2. probe returns a check.Result: pass, fail, or unknown when the fault was
//     ours, such as no route or no permission.
//  3. The result goes into the daemon's inbox, the one channel through which
//     state is changed.
//  4. The daemon hands it to engine.Step. health counts it; mostly nothing
//     follows, and the road ends here. Where there is a canary, the last failure
//     of a row waits until that passes, and while it fails no result counts.
//     Where several vantages judge the target, the verdict of this node is one
//     word among theirs: it is told to the other nodes, what they say comes in as
//     an event like any other, and what all of them add up to is the verdict.
//  5. The last failure of a row changes the verdict, and scenario the signals and
//     conditions that rest on it. steer works out the wanted answers of every
//     record set that rests on this target or those, with reasons, and plan
//     finds that the zone, as it was listed last, differs. That opens the zone's
//     debounce window; at its end engine works everything out again, and lets
//     Work for the zone out if there is still something to change.
//  6. The daemon appends the change to the store first, then hands the Work to
//     reconcile. There is one slot for each zone, and the newest wins.
//  7. reconcile asks its lease. Who does not lead keeps the plan for status and
//     writes nothing.
//  8. The leader lists the zone, and the Work, a value, plans itself against the
//     list: steer, plan and its limits once more, so that what is written rests
//     on what is there. Go, or blocked, with the numbers. Sets of one zone go
//     one after the other, zones side by side.
//  9. Last before the call, the gate: is the lease good for longer than the call
//     may take? Then the adapter adds or takes away; a take-away is told which
//     answers have to survive it. After an unclear outcome the zone is listed
//     again, nothing is sent again from memory.
//  10. Verify: the zone is listed once more and its servers are asked. What came
//     of it goes into the inbox as an event, the one arrow back.
//
// An operator's word, such as an approval, enters at step 4 and takes the same
// road.
package pkg
