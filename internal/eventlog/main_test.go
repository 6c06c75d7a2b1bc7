package eventlog

import (
	"testing"

	"go.uber.org/goleak"
)

// A stream of nats-server waits 30 seconds for the consumer of its source or mirror, also
// after the server has shut down.
const (
	sourceWait = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"
	mirrorWait = "github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(sourceWait), goleak.IgnoreAnyFunction(mirrorWait))
}
