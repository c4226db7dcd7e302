package memory

import (
	"fmt"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Writers are who wrote the stamps, by their nonces: the processes, and not only
// their names.
func Writers(history []Version) map[string]string {
	wrote := map[string]string{}
	for _, v := range history {
		for _, s := range v.Stamps() {
			if _, known := wrote[s.Nonce]; !known && s.Nonce != "" {
				wrote[s.Nonce] = v.Cause.Node
			}
		}
	}
	return wrote
}

// Stamps are those in the zone, well-formed or not.
func (v Version) Stamps() (stamps []provider.Stamp) {
	for _, r := range v.Records {
		if r.at(v.zone.stampName(), record.TXT) {
			stamps = append(stamps, provider.ParseStamp(r.Value))
		}
	}
	return stamps
}

// OneWriter sees that whatever an adapter changed in the zone beside the stamp was
// changed by the process whose stamp was there before, and no other process's. A
// text that somebody copied there by hand since the list, and the one that a first
// claim begins with, are nobody's.
func OneWriter(history []Version) error {
	wrote := Writers(history)
	for i := 1; i < len(history); i++ {
		v := history[i]
		if v.Cause.Op != OpAdd && v.Cause.Op != OpTakeAway {
			continue
		}
		var of []string
		before := history[i-1].Stamps()
		for _, s := range before {
			if who := wrote[s.Nonce]; who != "" && s.Holder != "-" {
				of = append(of, who)
			}
		}
		if len(of) != 1 || of[0] != v.Cause.Node {
			return fmt.Errorf("version %d at %v (%s): the stamps before were %v, of %v", i, v.At, v.Cause, before, of)
		}
	}
	return nil
}
