// Package cloudflare edits a zone at Cloudflare through the API v4, directly
// and not through a library: of the five resources that it needs (zones, the
// list of records, the batch of record changes, one zone, the token) each
// answer is checked for being whole.
//
// # How it pauses
//
// Cloudflare has no disabled state. A paused address is the same record under
// the name of the parked copies, renamed by its id, so that its TTL, its proxy
// status, comment, tags and settings stay with it untouched; it is resumed by
// the rename back. Two aliases cannot stand at one name: for a CNAME the
// content of the one record is patched by id, and the old value is kept in a
// readable TXT copy that is posted in the same call.
//
// # How it writes
//
// Every write is one POST of dns_records/batch, which Cloudflare carries out in
// one transaction in the order deletes, patches, posts ("Batch record changes"
// in its documentation: if any action fails, no changes are applied). The
// stamp, the TXT record _sidestep, is deleted by its id and posted anew in each
// of them, so that a write whose view of the zone is out of date is refused
// whole. The survivors of a take-away ride along as patches that give them the
// name which they have: the call fails when one was deleted, and brings it back
// when it was renamed. A patch holds an id and the fields that it changes, and
// nothing else; "all unspecified fields remain". The transaction is one of the
// database and not of the name servers, so that adds and take-aways never share
// a call.
//
// A batch goes by ids and compares no content. A record that somebody edits in the
// moment between the list and the batch is renamed, deleted or counted as a
// survivor with its new content; the answer to the batch shows it, a warning
// names the record with both contents, and the zone is listed again. Only where
// the batch itself writes a content, as a resume and the swap of an alias do, the
// one that was edited in is written over unseen.
//
// Which code a refused batch has, and at which place of the answer, is nowhere
// promised: a code is looked for in all of it, and a look at the stamps tells
// another writer from an edit by hand whatever the code.
//
// The first claim of a zone posts a fixed text, of which Cloudflare takes only
// one, and takes that over; see claim.go.
//
// # How it lists
//
// The zone is read in one page, which is consistent, and its count is held
// against result_info.total_count. Everything else that could be read as "no
// records" is an error. A record that cannot be read is told of and stops
// nothing.
//
// # What it never does
//
// It never deletes a record but the stamp, a parked copy that is there twice,
// and an alias whose copy goes in with the same call. It never
// sends a write twice, never patches a field that no change names, never
// touches another name than that of the record set, of its parked copies and of
// the stamp, and never ends the process.
//
// # TTLs
//
// A TTL of 1 at Cloudflare means automatic, which is 300 seconds; it is listed
// as that and stays automatic until the config has another wish. A proxied
// record is automatic always: whatever the config says is no difference there. A
// TTL below 60 seconds, the minimum outside Enterprise zones, is raised to that,
// and one above a day is lowered; the list says so of each record, so that the
// wish is met by it, and validate warns.
//
// # Tests
//
// cloudflaretest is a strict fake of the API; the vendor's own SDK is driven
// against it in providers/conformance. What only the real API can show is in
// live_test.go, behind the build tag live:
//
//	SIDESTEP_LIVE_CLOUDFLARE_TOKEN=… SIDESTEP_LIVE_CLOUDFLARE_ZONE=example.com \
//	  go test -tags live -run Live -v ./providers/cloudflare
//
// with a token that has Zone:Read and DNS:Edit on a zone that may be written
// to: it makes records below the name sidestep-live of that zone and the stamp,
// and takes all of them out again.
//
// The four interfaces of libdns are implemented too, for other programs; they
// know neither stamp nor pause, and sidestep's own writes never go through them.
// The contract is in pkg/provider, the road of a request in
// pkg/provider/httpapi, and the only caller of the writes is pkg/reconcile.
package cloudflare
