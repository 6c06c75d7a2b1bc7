package localpg

// site is everything that is known before the first start of the postmaster.
type site struct {
	binaries string
	account  account
	cluster  string
	sockets  string
	password string
	dsnFile  string
	logFile  string
}

// The role that owns a new cluster, and its database.
const (
	superuser = "payfold"
	database  = "payfold"
)
