// Package metrics tells Prometheus how a daemon is doing: GET /metrics, in the text
// format that every scraper reads. METRICS.md lists what there is, and what to do
// about it; it is made from the table in table.go.
//
// What is so at this moment is asked of the daemon for each scrape, as one Snapshot,
// so that a number is never older than its scrape and nothing has to be kept in step
// with the daemon's state. What has happened since the start is counted by a Meter
// where it passes. Both are bounded, see below, and the names of the config are all
// that they know.
//
// # How many series there are
//
// That follows from the config alone, and is the same before and after any number of
// probes. A label is a name that the config has (check, zone, site, provider, record
// set, address), or one of a list of at most twenty words that stands in METRICS.md;
// a word that is in no list counts as "other". No text that somebody else wrote, no
// time, no port and no id ever is one. The series of what a reload removes go with it.
//
// Targets are added up by check and record sets by zone. Beside that each has series
// of its own as long as there are at most SeriesMost of its kind; with more, a
// single node would be most of what a Prometheus keeps, and a graph of them could
// not be read. How many were left out then is a metric too. There are no histograms
// by target at any number.
//
// # Drawbacks
//
// A scrape waits for the daemon's loop, so that it sees one state of all. When the
// loop does not answer within some seconds only the counters, and the time of its
// last turn, are told.
package metrics
