package status

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
)

func TestStatusSaysHowDurableAnEventIsAfterA200(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := testenv.NewNATS(t)
	server.CreateStream(ctx, t, 4)
	status := WithLog(ctx, server.Log(t), Database{}, store.ErrNotPrepared)
	require.Empty(t, status.LogFault)
	text, object := textAndJSON(t, status)
	require.Contains(t, text, "1: WARNING: a power cut of its server may lose events that were answered 200")
	require.Contains(t, object, `"replicas":1,"replicas_current":1,"durability":"one_server"`)

	stream, err := server.JetStream.Stream(ctx, testenv.Stream)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxMsgs = 5
	_, err = server.JetStream.UpdateStream(ctx, config)
	require.NoError(t, err)
	text, object = textAndJSON(t, WithLog(ctx, server.Log(t), Database{}, store.ErrNotPrepared))
	require.Contains(t, text, "fault: the stream does not keep every event as it is for ever: max_msgs is 5, must be -1")
	require.Contains(t, object, `"log_fault":"the stream does not keep`)
}

func textAndJSON(t *testing.T, status Status) (text, object string) {
	t.Helper()
	var out, raw bytes.Buffer
	require.NoError(t, status.Write(&out, false))
	require.NoError(t, status.Write(&raw, true))
	return out.String(), raw.String()
}
