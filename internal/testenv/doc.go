// Package testenv gives tests real parts: a private Postgres server with a database for
// each test, an embedded log, the built programs. The only fake is GitHub. Only tests
// import the package.
package testenv
