package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// segment was written by ingest after it received testdata/first-event.json.
const segment = "testdata/00000000000000000001.seg"

func TestASegmentOfFormat2IsReadWithoutPayfold(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, printSegment(&out, segment))
	var m message
	require.NoError(t, json.Unmarshal([]byte(out.String()), &m))
	sent, err := os.ReadFile("testdata/first-event.json")
	require.NoError(t, err)
	require.Equal(t, string(sent), m.Body)
	require.EqualValues(t, 1, m.Seq)
	require.Equal(t, time.Date(2026, 11, 27, 16, 54, 0, 0, time.UTC), m.StoredAt.Truncate(time.Minute))
	require.Equal(t, "evt_first_1", m.Headers["Nats-Msg-Id"])
	require.Equal(t, "provider", m.Headers["Payfold-Provider"])
	require.Len(t, m.Headers["Payfold-Signature"], 64)
}

func TestABodyInAnotherFormIsAnError(t *testing.T) {
	t.Parallel()
	record := make([]byte, 8+8+4+4+1)
	_, err := parse(record)
	require.NoError(t, err)
	record[24] = 1
	_, err = parse(record)
	require.ErrorIs(t, err, errForm)
}

func TestASegmentThatWasCutShortIsAnError(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(segment)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.seg")
	require.NoError(t, os.WriteFile(cut, whole[:300], 0o600))
	require.Error(t, printSegment(new(strings.Builder), cut))
}
