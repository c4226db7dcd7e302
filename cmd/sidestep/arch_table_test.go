package main_test

// allowed is what the code of one package may import directly, as lists of
// words. Tests may import what they like.
type allowed struct {
	own  string // packages of this project, from its root, without "pkg/"; a provider's with "providers/"
	mods string // packages of other modules, with everything below them
	std  string // packages of the standard library; empty allows them all
}

// values are the packages of the standard library that only make values out of
// values. The vocabulary and the decision core may use these and no others:
// what has no context, clock, log, lock, socket or chance in reach cannot
// depend on them, and every decision can be replayed from its events.
const values = "bytes cmp crypto/sha256 encoding/binary encoding/hex errors fmt hash/fnv iter maps math math/bits net/netip " +
	"regexp slices sort strconv strings time unicode unicode/utf8"

// rooms is who may enter which room. It is a list of what is allowed and not of
// what is forbidden, so that nothing slips in: a new import is written down
// here, in the change that needs it, or it does not happen. These are the rules
// that the lists follow; the walls in arch_rules_test.go hold whatever stands
// here.
//
//   - record, check, health, scenario, steer, plan, rto and engine: values only.
//   - probe and schedule report facts, never verdicts: they do not know health.
//     scenario never sees a Result, plan never sees health.
//   - Only reconcile writes to a zone. control asks by sending events and knows
//     neither reconcile nor a provider nor the lease.
//   - pkg never knows providers or cmd. A provider knows the contract and the
//     vocabulary, never another provider, the config, a plan or the daemon.
//   - viper stays in config, libdns in provider and providers, zerolog in
//     daemon and cli: the other rooms take a *slog.Logger.
//   - daemon is the one package that knows all the others.
//   - simulate is the daemon without a world: it drives the engine, and lets
//     reconcile write to zones in memory.
var rooms = map[string]allowed{
	// vocabulary
	"pkg":        {std: "nothing"},
	"pkg/record": {std: values, mods: "golang.org/x/net/idna"},
	"pkg/check":  {std: values},

	// decision core
	"pkg/health":   {own: "check", std: values},
	"pkg/scenario": {std: values},
	"pkg/override": {std: values},
	"pkg/steer":    {own: "record", std: values},
	"pkg/plan":     {own: "record steer", std: values},
	"pkg/rto":      {own: "record check scenario steer", std: values},
	"pkg/engine":   {own: "record check health override scenario steer plan", std: values},

	// edges
	"pkg/probe":                     {own: "check resolve probe/ping", mods: "golang.org/x/net/http/httpguts golang.org/x/net/http2 golang.org/x/sys/unix"},
	"pkg/probe/ping":                {mods: "golang.org/x/sys/unix"},
	"pkg/schedule":                  {own: "check clock"},
	"pkg/provider":                  {own: "record", mods: "golang.org/x/time/rate"},
	"pkg/provider/memory":           {own: "record provider"},
	"pkg/provider/providertest":     {own: "record provider"},
	"pkg/provider/generic":          {own: "record provider provider/httpapi", mods: "github.com/libdns/libdns"},
	"pkg/provider/vendordata":       {mods: "github.com/libdns/libdns"},
	"pkg/provider/httpapi":          {own: "provider"},
	"pkg/provider/httpapi/httpfake": {},
	"pkg/authority":                 {own: "record", mods: "github.com/miekg/dns"},
	"pkg/authority/authoritytest":   {own: "authority record"},
	"pkg/clock":                     {mods: "golang.org/x/sys/unix"},
	"pkg/lease":                     {},
	"pkg/lease/file":                {own: "clock lease", mods: "golang.org/x/sys/unix"},
	"pkg/lease/none":                {own: "lease"},
	"pkg/lease/zone":                {std: values},
	"pkg/cluster":                   {own: "check clock health override", mods: "go.etcd.io/etcd golang.org/x/time/rate"},
	"pkg/lease/etcd":                {own: "clock lease", mods: "go.etcd.io/etcd go.uber.org/zap google.golang.org/grpc"},
	"pkg/lease/etcd/etcdtest":       {own: "provider/providertest/realserver", mods: "go.etcd.io/etcd go.uber.org/zap google.golang.org/grpc"},
	"pkg/store":                     {mods: "github.com/google/renameio/v2 golang.org/x/sys/unix"},
	"pkg/reconcile":                 {own: "record steer plan engine provider clock lease lease/zone"},
	"pkg/observe":                   {own: "record check", mods: "github.com/miekg/dns golang.org/x/net/http/httpguts"},
	"pkg/resolve":                   {own: "observe", mods: "github.com/miekg/dns"},
	"pkg/probe/probetest":           {mods: "golang.org/x/sys/unix"},
	"pkg/resolve/resolvetest":       {mods: "github.com/miekg/dns"},
	"pkg/metrics":                   {mods: "github.com/prometheus/client_golang"},
	"pkg/control":                   {mods: "golang.org/x/sys/unix"},
	"pkg/web":                       {},
	"pkg/web/webtest":               {}, // tests only
	"pkg/config":                    {own: "record check notify scenario steer provider", mods: "github.com/spf13/pflag github.com/spf13/viper go.yaml.in/yaml/v3"},
	"pkg/notify":                    {own: "clock"},

	"pkg/provider/providertest/realserver": {},

	// assembly
	"pkg/daemon": {
		own: "record check health override scenario steer plan engine probe resolve schedule provider clock cluster lease lease/etcd lease/file lease/none lease/zone " +
			"store reconcile observe control config metrics notify rto web",
		mods: "github.com/coreos/go-systemd/v22/daemon golang.org/x/sys/unix",
	},
	"pkg/lab":   {mods: "github.com/miekg/dns golang.org/x/sys/unix"},
	"pkg/drill": {own: "record check override plan authority lab observe control"},
	"pkg/simulate": {
		own:  "record check health override steer plan engine clock lease provider provider/memory reconcile config daemon",
		mods: "github.com/spf13/pflag",
	},
	"pkg/cli": {
		own:  "record check override config control daemon drill lab notify observe provider resolve rto simulate steer",
		mods: "github.com/rs/zerolog github.com/spf13/cobra github.com/spf13/pflag golang.org/x/sys/unix",
	},
	"pkg/cli/manual":      {own: "cli", mods: "github.com/spf13/cobra github.com/spf13/pflag"},
	"pkg/bench":           {own: "record steer plan", mods: "golang.org/x/sys/unix"},
	"pkg/bench/yardstick": {own: "bench"},
	"cmd/sidestep":        {own: "cli providers"},

	// providers
	"providers":                           {own: "provider providers/cloudflare providers/gandi providers/hetzner providers/local providers/ovh providers/powerdns providers/rfc2136 providers/route53 providers/tencentcloud"},
	"providers/cloudflare":                {own: "record provider provider/httpapi provider/vendordata", mods: "github.com/libdns/libdns"},
	"providers/cloudflare/cloudflaretest": {own: "record provider provider/providertest provider/httpapi/httpfake"},
	"providers/gandi":                     {own: "provider provider/generic", mods: "github.com/libdns/gandi github.com/libdns/libdns"},
	"providers/gandi/ganditest":           {own: "record provider provider/httpapi/httpfake provider/providertest"},
	"providers/hetzner":                   {own: "provider provider/generic", mods: "github.com/libdns/hetzner github.com/libdns/libdns"},
	"providers/hetzner/hetznertest":       {own: "record provider provider/httpapi/httpfake provider/providertest"},
	"providers/ovh":                       {own: "provider provider/generic provider/httpapi", mods: "github.com/libdns/libdns github.com/libdns/ovh github.com/ovh/go-ovh"},
	"providers/ovh/ovhtest":               {own: "record provider provider/httpapi/httpfake provider/providertest"},
	"providers/local":                     {own: "record provider authority", mods: "github.com/libdns/libdns github.com/miekg/dns golang.org/x/sys/unix"},
	"providers/powerdns":                  {own: "record provider provider/httpapi provider/vendordata", mods: "github.com/libdns/libdns"},
	"providers/powerdns/powerdnstest": {
		own:  "record provider provider/httpapi/httpfake provider/providertest provider/providertest/realserver",
		mods: "github.com/miekg/dns",
	},
	"providers/rfc2136":             {own: "record provider", mods: "github.com/libdns/libdns github.com/miekg/dns"},
	"providers/rfc2136/rfc2136test": {own: "provider/providertest/realserver", mods: "github.com/miekg/dns"},
	"providers/route53": {
		own:  "record provider provider/httpapi provider/vendordata",
		mods: "github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go github.com/libdns/libdns",
	},
	"providers/route53/route53test": {own: "record provider provider/providertest provider/httpapi/httpfake"},
	"providers/tencentcloud": {
		own:  "record provider provider/httpapi provider/vendordata",
		mods: "github.com/libdns/libdns golang.org/x/net/idna",
	},
	"providers/tencentcloud/tencentcloudtest": {
		own:  "record provider provider/httpapi/httpfake provider/providertest",
		mods: "golang.org/x/net/idna",
	},
	"providers/conformance":            {}, // tests only
	"providers/conformance/etcdserver": {mods: "go.etcd.io/etcd/server/v3 golang.org/x/crypto/bcrypt"},
}

// panics are the functions that may panic, each with the reason why no error
// could do.
var panics = map[string]string{}
