// Package logreport writes what the commands of ingest find: about the log's files, about its
// archive, and about proofs of one event. It stands apart from package report so that ingest,
// which faces the internet, is built without the code for Postgres and GitHub.
package logreport
