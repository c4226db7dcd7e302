// Package cloudflaretest is a fake of the part of Cloudflare's API v4 that a DNS
// client uses: zones, records, the batch of record changes, and the token.
//
// It is this project's own reading of the vendor's documentation ("Batch record
// changes", "DNS records", the schema of the API) and of errors that people
// have posted, and it is strict: an unknown route, parameter or field is
// refused, so is a field of the wrong type, and each rule about a record's
// content that is known is enforced. The vendor's SDK is driven against it in
// providers/conformance, and has to parse each of its errors.
//
// What it takes for true, and what only the real API can show:
//
//   - A batch is carried out in the order deletes, patches, puts, posts, in one
//     transaction; the first error is returned and nothing is applied
//     (documented). That two batches never interleave follows from "a single
//     database transaction" and is not documented further.
//   - An action on an id that is not there fails with 81044, in a batch as in a
//     single call (seen for single calls only).
//   - A renamed record keeps its id and every attribute that the patch does not
//     name (documented for attributes); an id is never given out again (not
//     documented).
//   - A record that equals another in name, type and content is refused with
//     81058, whatever its TTL and proxy status.
//   - The text of a TXT record is kept as it was sent, quoted or not; a string
//     above 255 bytes is split (documented since 2025).
//   - A proxied record's TTL is 1.
//   - A list is consistent and shows the last write.
//
// A fake opens no file, reads no clock and never sleeps; it serves on loopback
// until the test ends. Faults come from httpfake's script: Fake.Server.Arm.
package cloudflaretest
