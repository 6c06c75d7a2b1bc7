// Package testenv gives tests the real parts: a private Postgres server with a
// database for each test, an embedded log, the built programs; and a GitHub that
// answers as the real one does. It is only imported by tests.
package testenv
