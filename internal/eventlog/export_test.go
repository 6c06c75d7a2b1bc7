package eventlog

// ConsumerTimeout is how long the server keeps a reader that is gone.
const ConsumerTimeout = consumerTimeout

// NewDialer reaches the embedded log of a data directory.
var NewDialer = newDialer
