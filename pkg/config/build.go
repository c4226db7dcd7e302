package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// builder turns a tree that was held against the schema into a Config.
type builder struct {
	*log
	opts Options
	open bool   // others can read the file
	dir  string // the file's folder, absolute
	cfg  *Config

	zones     map[record.Name]*item // by canonical name
	records   []*item               // of cfg.Records, at the same place
	scenarios *item                 // of which terms and answers name one
	judges    []*item               // every vantages of the file
	canaries  []*item               // of cfg.Canary.Targets, at the same place
}

func (b *builder) build(root *item) {
	dir, err := b.opts.Abs(filepath.Dir(b.file))
	if err != nil {
		b.fail(Position{File: b.file}, "", "cannot tell the file's folder: "+err.Error(), "")
		return
	}
	b.dir = dir
	b.cfg = &Config{File: b.file, Adopt: Adopt(get[string](root.at("adopt")))}
	b.node(root)
	b.etcd(root)
	b.rhythm(root)
	b.canary(root.at("canary"))
	b.guards(root.at("guard"))
	b.buildZones(root.at("zones"))
	b.oneMeaning(root)
	b.buildChecks(root)
	b.buildSites(root.at("sites"))
	b.scenarios = root.at("scenarios")
	b.buildRecords(root.at("records"))
	b.variants()
	b.buildScenarios()
	b.crossRules()
	b.vantageRules(root)
	b.sceneRules(root.at("sites"))
	b.canaryRules(root.at("canary"))
	b.massRules(root.at("guard", "mass"))
	b.notifies(root.at("notify"))
	b.ping(root.at("ping"))
}

// absolute makes a path absolute, counting from the file's folder.
func (b *builder) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.dir, path)
}

// maxSocket is the longest path of a unix socket on Linux (unix(7): 108 bytes
// with the final zero).
const maxSocket = 107

func (b *builder) node(root *item) {
	name := get[string](root.at("node", "name"))
	if name == "" && root.at("node", "name").shape == absent {
		name = b.hostname()
	}
	b.cfg.Node = Node{Name: name, Vantage: cmp.Or(get[string](root.at("node", "vantage")), name)}
	b.cfg.State = State{
		Dir:    b.absolute(get[string](root.at("state", "dir"))),
		MaxAge: get[time.Duration](root.at("state", "max_age")),
	}
	socket := root.at("control", "socket")
	b.cfg.Control.Socket = b.absolute(get[string](socket))
	if len(b.cfg.Control.Socket) > maxSocket {
		b.fail(socket.pos, socket.path(), "the path of a unix socket has at most 107 bytes, this one more", "choose a shorter path")
	}
	b.overTCP(root.at("control"))
	b.leader(root.at("leader"))
}

func (b *builder) leader(leader *item) {
	lock := leader.at("lock")
	b.cfg.Leader = Leader{
		Lock: Lock(get[string](lock)), IAmAlone: get[bool](leader.at("i_am_alone")),
		Heartbeat: get[time.Duration](leader.at("heartbeat")),
		Takeover:  get[time.Duration](leader.at("takeover")),
		Poll:      get[time.Duration](leader.at("poll")),
	}
	b.cfg.Sources.Leader = lock.pos
	for _, key := range []string{"heartbeat", "takeover", "poll"} {
		if it := leader.at(key); leader.has(key) && b.cfg.Leader.Lock != LockZone {
			b.fail(it.keyPos, it.path(), fmt.Sprintf("this is of lock: zone, and the lock is %s", b.cfg.Leader.Lock), "remove it, or say lock: zone")
		}
	}
	if b.cfg.Leader.Lock == LockNone && !b.cfg.Leader.IAmAlone {
		b.fail(lock.pos, lock.path(), "without a lock nothing keeps two sidesteps from writing at once", "add i_am_alone: true if there is only one, for ever")
	}
}

func (b *builder) rhythm(root *item) {
	r := root.at("reconcile")
	b.cfg.Reconcile = Reconcile{
		Debounce:  get[time.Duration](r.at("debounce")),
		Every:     get[time.Duration](r.at("every")),
		RetryBase: get[time.Duration](r.at("retry", "base")),
		RetryMax:  get[time.Duration](r.at("retry", "max")),
	}
	if base := r.at("retry", "base"); b.cfg.Reconcile.RetryBase > b.cfg.Reconcile.RetryMax {
		b.fail(base.pos, base.path(), "the first pause is longer than the longest, "+short(b.cfg.Reconcile.RetryMax), "")
	}
}

func (b *builder) guards(guard *item) {
	b.cfg.Guard.MaxChanges = get[int](guard.at("max_changes"))
	mass := guard.at("mass")
	if _, isOff := mass.value.(off); !isOff {
		b.cfg.Guard.Mass = Mass{
			Percent: get[int](mass.at("percent")),
			AtLeast: get[int](mass.at("at_least")),
			Within:  get[time.Duration](mass.at("within")),
			Confirm: get[int](mass.at("confirm")),
		}
		if b.cfg.Guard.Mass.Percent == 100 {
			at := mass.at("percent")
			b.warn(at.pos, at.path(), "more than 100% of the addresses never fail: the guard is off", "write a smaller percentage, or mass: 0")
		}
	}
	writes := guard.at("max_writes")
	if _, isOff := writes.value.(off); isOff {
		return
	}
	b.cfg.Guard.MaxWrites = MaxWrites{
		Count:  get[int](writes.at("count")),
		Window: get[time.Duration](writes.at("window")),
	}
}

// oneMeaning sees to it that one name stands for one check, site or scenario
// only: terms of a scenario use them all.
func (b *builder) oneMeaning(root *item) {
	first := map[string]*item{}
	for _, kind := range []string{"checks", "sites", "scenarios"} {
		for _, it := range root.at(kind).items {
			if other := first[it.name]; other != nil {
				b.fail(it.pos, it.path(), "the name is taken by "+other.path()+" at "+other.pos.String(), "one name stands for one thing; rename one of them")
				continue
			}
			first[it.name] = it
		}
	}
}

// checkNames are the names that a record set may refer to.
func (b *builder) checkNames() []string { return slices.Collect(maps.Keys(b.cfg.Checks)) }

func (b *builder) addCheck(it *item, spec *check.Spec) {
	b.cfg.Checks[spec.Name] = spec
	b.cfg.Sources.Checks[spec.Name] = it.pos
}

func (b *builder) addRecord(it *item, spec *steer.Spec) {
	b.cfg.Records = append(b.cfg.Records, spec)
	b.records = append(b.records, it)
}
