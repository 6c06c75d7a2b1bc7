package eventlog

// ConsumerTimeout is how long the server keeps a reader that is gone.
const ConsumerTimeout = consumerTimeout
