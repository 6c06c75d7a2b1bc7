package verify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv/specification"
)

const partitionsOfLog = 8

var (
	signer  = specification.NewSecret("whsec_0123456789abcdef")
	retired = specification.NewSecret("whsec_of_last_year")
	unknown = specification.NewSecret("whsec_nobody_has")
)

// signed is a message as ingest stores it.
func signed(t *testing.T, secret providers.Secret) events.Message {
	t.Helper()
	body := []byte(`{"id":"e1","eventType":"checkout.completed","object":{"metadata":{"kind":"pro","user_id":"u1"}}}`)
	event, err := specification.Parse(body)
	require.NoError(t, err)
	return events.Message{
		Seq: 7, Partition: event.Partition(partitionsOfLog), ID: "e1", Body: body, Provider: "provider",
		Signature: specification.Sign(secret, body), KeyFingerprint: secret.Fingerprint(),
	}
}

// secretsOf are the secrets of the provider that signs.
func secretsOf(secrets ...providers.Secret) providers.Secrets {
	return providers.Secrets{"provider": secrets}
}

func judged(a *audit, m events.Message) (fault string, verifiable bool) {
	return a.faultOf(m, providers.Decode(m))
}

func TestAMessageThatIngestDidNotStoreIsFound(t *testing.T) {
	t.Parallel()
	a := audit{secrets: secretsOf(signer, retired), partitions: partitionsOfLog}
	for name, c := range map[string]struct {
		change func(*events.Message)
		fault  string
	}{
		"a body that is no event": {func(m *events.Message) { m.Body = m.Body[1:] }, "its body is not an event"},
		"another message id":      {func(m *events.Message) { m.ID = "e2" }, "its message id is \"e2\", its body has \"e1\""},
		"another partition":       {func(m *events.Message) { m.Partition = (m.Partition + 1) % partitionsOfLog }, "belongs to"},
		"no signature":            {func(m *events.Message) { m.Signature = "" }, "it has no signature"},
		"another key":             {func(m *events.Message) { m.KeyFingerprint = retired.Fingerprint() }, "under another key"},
		"an unknown key":          {func(m *events.Message) { m.KeyFingerprint = unknown.Fingerprint() }, "under another key"},
		"another form":            {func(m *events.Message) { m.Form = 1 }, "its body is not an event: the body is stored in a form that this build cannot read"},
		"another's signature":     {func(m *events.Message) { m.Signature = specification.Sign(unknown, m.Body) }, "its signature does not hold"},
	} {
		m := signed(t, signer)
		c.change(&m)
		fault, verifiable := judged(&a, m)
		require.Contains(t, fault, c.fault, name)
		require.True(t, verifiable, name)
	}
}

// An attacker who can write to the log can name the fingerprint of an unknown key.
func TestAStrictAuditAcceptsOnlyWhatAGivenSecretVerifies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change               func(*events.Message)
		unverifiable, faults int // of an audit that is not strict; a strict one finds both wrong
		pulled               int // the same
	}{
		"as it was stored":         {func(*events.Message) {}, 0, 0, 0},
		"an unknown key":           {func(m *events.Message) { *m = signed(t, unknown) }, 1, 0, 0},
		"a made-up signature":      {func(m *events.Message) { m.Signature, m.KeyFingerprint = "ab12", "cd34" }, 1, 0, 0},
		"a signature without key":  {func(m *events.Message) { m.Signature, m.KeyFingerprint = "ab12", "" }, 1, 0, 0},
		"no header of a signature": {func(m *events.Message) { m.Signature, m.KeyFingerprint = "", "" }, 0, 1, 0},
		"a mark": {func(m *events.Message) {
			id, body := events.Lost(m.Seq)
			*m = events.Message{Seq: m.Seq, Provider: events.OwnEvents, ID: id, Body: body}
			m.Partition = providers.Decode(*m).Partition(partitionsOfLog)
		}, 0, 0, 0},
		"a mark of another sequence": {func(m *events.Message) {
			id, body := events.Lost(m.Seq + 1)
			*m = events.Message{Seq: m.Seq, Provider: events.OwnEvents, ID: id, Body: body}
			m.Partition = providers.Decode(*m).Partition(partitionsOfLog)
		}, 0, 1, 0},
		"a key and no signature": {func(m *events.Message) { m.Signature = "" }, 0, 1, 0},
		"pulled":                 {func(m *events.Message) { m.Source, m.Signature = events.SourcePulled, "" }, 0, 0, 1},
		"pulled, a signature":    {func(m *events.Message) { m.Source, m.Signature = events.SourcePulled, "ab12" }, 0, 1, 0},
		"pulled, another id":     {func(m *events.Message) { m.Source, m.Signature, m.ID = events.SourcePulled, "", "e2" }, 0, 1, 0},
		"of another source":      {func(m *events.Message) { m.Source, m.Signature = "Pulled", "" }, 0, 1, 0},
		"in another form":        {func(m *events.Message) { m.Form = 1 }, 0, 1, 0},
	} {
		for _, strict := range []bool{false, true} {
			var found []Fault
			a := audit{secrets: secretsOf(signer), partitions: partitionsOfLog, strict: strict, found: func(f Fault) { found = append(found, f) }, verdict: new(Verdict)}
			m := signed(t, signer)
			c.change(&m)
			a.inspect(m, providers.Decode(m))
			want := c.faults
			if strict {
				want += c.unverifiable + c.pulled
			}
			require.Equal(t, want, a.verdict.Faults, name)
			require.Len(t, found, want, name)
			require.Equal(t, []int{c.unverifiable, c.pulled}, []int{a.verdict.Unverifiable, a.verdict.Pulled}, name)
			require.Equal(t, 1, a.verdict.Signed+a.verdict.Lost+c.unverifiable+c.pulled+c.faults, name)
		}
	}
}

func TestTheShopsOwnEventsAreCountedAmongTheSignedOnes(t *testing.T) {
	t.Parallel()
	p := providers.Named(events.OwnEvents)
	secret, err := p.NewSecret("of the shop")
	require.NoError(t, err)
	body := []byte(`{"id":"own_1","type":"payment","payment":"p1","user":"u1","kind":"one_time","credits":5}`)
	own := events.Message{
		Seq: 8, Provider: p.Name(), ID: "own_1", Body: body, KeyFingerprint: secret.Fingerprint(),
		Signature: p.Sign(secret, "", body, time.Time{}).Get(p.SignatureHeader()),
	}
	own.Partition = providers.Decode(own).Partition(partitionsOfLog)
	a := audit{secrets: secretsOf(signer), partitions: partitionsOfLog, verdict: new(Verdict)}
	a.secrets[p.Name()] = []providers.Secret{secret}
	for _, m := range []events.Message{own, signed(t, signer)} {
		a.inspect(m, providers.Decode(m))
	}
	require.Equal(t, []int{2, 1, 0}, []int{a.verdict.Signed, a.verdict.Own, a.verdict.Faults})
}

func TestAnyChangedBitOfBodyOrSignatureIsFound(t *testing.T) {
	t.Parallel()
	a := audit{secrets: secretsOf(signer), partitions: partitionsOfLog}
	good := signed(t, signer)
	for i := range 8 * len(good.Body) {
		m := good
		m.Body = append([]byte(nil), good.Body...)
		m.Body[i/8] ^= 1 << (i % 8)
		fault, _ := judged(&a, m)
		require.NotEmpty(t, fault, "%s", m.Body)
	}
	for i := range good.Signature {
		m := good
		m.Signature = good.Signature[:i] + "x" + good.Signature[i+1:]
		fault, _ := judged(&a, m)
		require.NotEmpty(t, fault, m.Signature)
	}
}

func TestASignatureHoldsUnderAnySecretThatIsGiven(t *testing.T) {
	t.Parallel()
	a := audit{secrets: secretsOf(signer, retired), partitions: partitionsOfLog}
	for _, secret := range []providers.Secret{signer, retired} {
		fault, verifiable := judged(&a, signed(t, secret))
		require.Empty(t, fault)
		require.True(t, verifiable)
	}
	fault, verifiable := judged(&a, signed(t, unknown))
	require.Empty(t, fault, "nobody can tell")
	require.False(t, verifiable)
}
