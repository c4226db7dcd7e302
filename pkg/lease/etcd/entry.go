package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// entryVersion is the form of entries that this version writes and understands.
const entryVersion = 1

// entry is what stands in etcd of one node that leads or waits. Nothing but
// messages and the refusal of what does not belong together follows from it.
type entry struct {
	Version int       `json:"version"`
	Node    string    `json:"node"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"` // when it came
	TTL     float64   `json:"ttl"`   // of its lease, in seconds
	Zones   []string  `json:"zones"` // what it steers

	key     string
	created int64 // revision
}

// String names the node for a message.
func (e entry) String() string {
	return fmt.Sprintf("%s (process %d on %s, since %s)", e.Node, e.PID, e.Host, e.Since.Format(time.RFC3339))
}

func (e entry) ttl() time.Duration { return time.Duration(e.TTL * float64(time.Second)) }

// maxShown is how much of a foreign value a message shows.
const maxShown = 40

func readEntry(kv *mvccpb.KeyValue) (entry, error) {
	var e entry
	err := json.Unmarshal(kv.Value, &e)
	if err == nil && (e.Version <= 0 || e.Node == "") {
		err = errors.New("no version and node in it")
	}
	switch {
	case err != nil:
		value := string(kv.Value)
		if len(value) > maxShown {
			value = strings.ToValidUTF8(value[:maxShown], "") + "…"
		}
		return e, fmt.Errorf("the key %q is not sidestep's: expected who leads, got %q (%w); give sidestep an etcd.prefix of its own, or: etcdctl del %s", kv.Key, value, err, kv.Key)
	case e.Version != entryVersion:
		return e, fmt.Errorf("the key %q has version %d, and this sidestep knows version %d: a newer one wrote it; update this node", kv.Key, e.Version, entryVersion)
	}
	e.key, e.created = string(kv.Key), kv.CreateRevision
	return e, nil
}

// stranger says why a node that was found under the prefix cannot be of one
// deployment with this one, nil when it can. Nodes that steer some zones in
// common may be at different states of one config.
func (e entry) stranger(zones []string, prefix string) error {
	if len(zones) == 0 || len(e.Zones) == 0 || slices.ContainsFunc(e.Zones, func(z string) bool { return slices.Contains(zones, z) }) {
		return nil
	}
	return fmt.Errorf("the prefix %s is used by %s for other zones: it steers %s, this node %s; give each deployment an etcd.prefix of its own",
		prefix, e, words(e.Zones), words(zones))
}

// words lists a few names.
func words(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
