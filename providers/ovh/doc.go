// Package ovh edits zones of OVHcloud through github.com/libdns/ovh v1.1.0 and
// with the reduced promises of pkg/provider/generic, where the road goes on.
//
// The module lists the ids of the zone's records and then asks for each record:
// a zone of a thousand records takes a thousand requests, which is why a call
// has a minute. It deletes every record of the name, type and value, and tells
// of all errors. After each change it asks the vendor to publish the zone: a
// refusal there comes after the change itself, so that an error of a write tells
// nothing about what happened and is always Ambiguous. It leaves the publication
// out when it does not learn what became of a change, which is then listed as
// made and not answered with; this package makes up for it before its next list.
// Where the process was killed in between, the next change publishes both.
//
// A TTL of 0 at the vendor means the zone's default, which the module would
// write back as 60 seconds: such a record is not paused. The module removes
// every quote from a TXT, and from the ends of every other value: sidestep's own
// texts have none.
//
// A record that the module's vocabulary cannot parse (an SRV whose name is not
// _service._protocol, for one) fails its listing, and so every write.
//
// Credentials that are not in the config are never looked for elsewhere; but
// OVH_ACCESS_TOKEN or OVH_CLIENT_ID in the environment, or in an ovh.conf, make
// the vendor's client refuse to work, and say so. ovhtest is a fake of what is
// used.
package ovh
