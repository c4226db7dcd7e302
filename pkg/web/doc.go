// Package web is the dashboard: one page that shows what sidestep sees and does,
// and where a person drains, freezes and approves. Handler serves it; everything
// it shows and says goes through the API of pkg/control under /api/v1, with the
// rights of the token that it is given.
//
// The page is plain HTML, CSS and ES modules, embedded in the binary, and there is
// nothing to build. It uses no library: what it draws are lists whose rows are kept
// and brought up to date, which is a page of code, and a sparkline is one SVG line.
// A chart library alone would be larger than all of it, and would have to be kept
// up to date.
//
// Strings from probed servers, from zones and from other persons reach the page
// only as text, never as HTML. The policy in its headers forbids scripts and styles
// that are not its own, other hosts, frames, and making HTML out of strings at all.
//
// A token is kept in the tab's session storage and nowhere else. It is asked for
// when the API wants one; behind #token= in the address it is taken from there,
// where browsers do not send it to anybody.
package web
