package eventlog

// AbandonedAfter is how long the server keeps a reader that is gone.
const AbandonedAfter = abandonedAfter

// NewDialer reaches the embedded log of a data directory.
var NewDialer = newDialer
