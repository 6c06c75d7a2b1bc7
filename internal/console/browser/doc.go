// Package browser tests the console, and the shop of examples/portal, as people use them: the real
// programs, a real Postgres, and a browser without a window.
//
// make test-console tests the console, make test-portal the shop. They install Chromium and axe-core
// if they are missing. Pictures of every page of the console stay in the folder that the test prints.
package browser
