// Package webtest looks at the dashboard with a real browser. It is a module of its
// own for what only its tests depend on, and holds nothing else.
//
// Its tests keep pictures of what they saw in the directory that
// SIDESTEP_SCREENSHOTS names. testdata has axe-core, which looks for what keeps
// people from using a page, as its authors publish it (axe.min.js of the npm
// package axe-core 4.14.1).
package webtest
