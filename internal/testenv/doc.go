// Package testenv gives tests the real parts: a private Postgres server with a
// database for each test, and an embedded log. It is only imported by tests.
package testenv
