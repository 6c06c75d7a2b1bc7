package eventlog

// AbandonedAfter is how long the server keeps a reader that is gone.
const AbandonedAfter = abandonedAfter
