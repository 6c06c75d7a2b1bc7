package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
)

func TestTheSameKeyGivesTheSamePartition(t *testing.T) {
	t.Parallel()
	customer := []string{
		`{"id":"a","eventType":"t","object":{"customer":"cust_1"}}`,
		`{"id":"b","eventType":"t","object":{"customer":{"id":"cust_1"},"metadata":{"user_id":"u"}}}`,
		`{"id":"c","eventType":"t","object":{"order":{"customer":"cust_1"}}}`,
		`{"id":"d","eventType":"t","object":{"subscription":{"customer":{"id":"cust_1"}}}}`,
		`{"id":"e","eventType":"t","object":{"transaction":{"customer":"cust_1"}}}`,
	}
	for _, body := range customer {
		event, err := specification.Parse([]byte(body))
		require.NoError(t, err)
		require.Equal(t, 2, event.Partition(64), "FNV-1a of cust_1 is fixed for ever: the log is written with it")
	}
}
