// Package browser tests the console as people use it: the real programs, a real Postgres, and a
// browser without a window.
//
// make test-console runs it. It installs Chromium and axe-core if they are missing. Pictures of
// every page stay in the folder that the test prints.
package browser
