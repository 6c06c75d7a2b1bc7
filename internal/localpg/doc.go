// Package localpg is the private Postgres of one machine: one server, with a
// cluster of its own, for however many processes share a data folder.
//
// Every process calls [Server.Run]. One of them gets the lock and owns the
// server; the others wait for the lock, so that when the owner goes another
// takes over:
//
//	waiting ──lock──▶ preparing ──▶ serving ──cancel──▶ stopped
//	                                 │   ▲
//	                              dies   │ back-off
//	                                 └───┘
//
// What it promises:
//
//   - At most one postmaster works on the cluster. A new owner waits until the
//     processes of the one before it are gone.
//   - A kill -9 at any moment, of the owner, of initdb or of the postmaster,
//     leaves nothing that the next start does not put right. On Linux it leaves
//     no process either.
//   - The server listens on a Unix socket only, in a folder only its user can
//     enter, and asks for a password that only the owner of the data folder can
//     read.
//   - The connection string stays the same for the life of a cluster.
//
// In the data folder it keeps:
//
//	postgres.lock      held by the owner
//	postgres/          the cluster, if the server's user can reach it here
//	postgres.location  else where it is
//	postgres.password  made once
//	postgres.dsn       the connection string, for people and programs
//	postgres.log       what the server says
package localpg
