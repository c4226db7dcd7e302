package provider

import "sidestep/pkg/record"

// Steerable refuses, as Permanent, a record set that no call to a zone can be of:
// of a type that is not steered, outside of the zone, or a variant where the zone
// has none.
func Steerable(op string, zone record.Name, key record.Key, variants bool) error {
	t, err := record.ParseType(string(key.Type))
	switch {
	case err != nil || t != key.Type:
		return Failf(Permanent, op, "", "expected a set of type A, AAAA or CNAME, got %s", key.Type)
	case !key.Name.In(zone) || key.Zone != zone:
		return Failf(Permanent, op, "", "the name is not in the zone %s", zone)
	case key.Variant != "" && !variants:
		return Failf(Permanent, op, "", "the zone has no variants of a record set")
	}
	return nil
}
