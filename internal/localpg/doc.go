// Package localpg runs the private Postgres of one machine. It is one server with its own cluster
// for all processes that share a data folder.
//
// Every process calls [Server.Run]. One of them gets the lock and owns the server. The
// others wait for the lock; when the owner ends, one of them takes over:
//
//	waiting ──lock──▶ preparing ──▶ serving ──cancel──▶ stopped
//	                                 │   ▲
//	                              dies   │ back-off
//	                                 └───┘
//
// Guarantees:
//
//   - At most one postmaster works on the cluster. Postgres ensures it with postmaster.pid: it refuses to start
//     while an earlier one works, and a new owner tries again.
//   - After a kill -9 at any moment, of the owner, of initdb or of the postmaster, the next
//     start repairs everything. On Linux no process is left behind either. Elsewhere the server of a killed owner
//     goes on, with the same connection string, until somebody stops it.
//   - The server listens only on a Unix socket, in a folder that only its user can enter. It
//     asks for a password that only the owner of the data folder can read.
//   - The connection string stays the same for the life of a cluster.
//
// Files in the data folder:
//
//	postgres.lock      locked by the owner
//	postgres/          the cluster, if the server's user can reach this folder
//	postgres.location  the path of the cluster otherwise
//	postgres.password  created once
//	postgres.dsn       the connection string, for people and programs
//	postgres.console.dsn   the connection string of a role that only reads
//	postgres.log       the server's log
package localpg
