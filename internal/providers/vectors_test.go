package providers

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// vector is a signature that others published: in their documentation, or in the tests of their own libraries.
type vector struct {
	secret    string
	id        string // empty if none is signed
	at        int64  // when it was signed; 0 if no time is
	body      string
	signature string // hexadecimal or base64
}

// Of standard-webhooks/standard-webhooks (libraries/go/webhook_test.go) and svix/svix-webhooks (go/webhook_test.go);
// and of Svix' page about verifying by hand.
var standardVectors = []vector{
	{
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`,
		"g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	},
	{
		"whsec_plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", 1731705121, `{"event_type":"ping","data":{"success":true}}`,
		"rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
	},
}

// Of stripe/stripe-dotnet (EventUtilityTest.cs and event_test_signature.json).
var stripeVector = vector{"webhook_secret", "", 1533204620, `{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "ii_123",
      "object": "invoiceitem",
      "amount": 1000,
      "currency": "usd",
      "customer": "cus_123",
      "date": 1533204620,
      "description": "Test Invoice Item",
      "discountable": false,
      "invoice": "in_123",
      "livemode": false,
      "metadata": {},
      "period": {
        "start": 1533204620,
        "end": 1533204620
      },
      "plan": null,
      "proration": false,
      "quantity": null,
      "subscription": null
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "invoiceitem.created"
}
`, "f0bdba6d4eacbd8ad8a3bbadd7248e633ec1477f7899c124c51b39405fa36613"}

// Of PaddleHQ/paddle-go-sdk (webhook_verifier_test.go) and PaddleHQ/paddle-node-sdk (webhooks-validator.test.ts).
var paddleVectors = []vector{
	{
		"pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_hKkRiCGyyRhbFwIUuqiTBgI7gnWoV0Gr", "", 1710929255,
		`{"data":{"id":"pri_01hsdn96k2hxjzsq5yerecdj9j","name":null,"status":"active","quantity":{"maximum":999999,` +
			`"minimum":1},"tax_mode":"account_setting","product_id":"pro_01hsdn8qp7yydry3x1yeg6a9rv","unit_price":` +
			`{"amount":"1000","currency_code":"USD"},"custom_data":null,"description":"testing","import_meta":null,` +
			`"trial_period":null,"billing_cycle":{"interval":"month","frequency":1},"unit_price_overrides":[]},` +
			`"event_id":"evt_01hsdn97563968dy0szkmgjwh3","event_type":"price.created",` +
			`"occurred_at":"2024-03-20T10:07:35.590857Z","notification_id":"ntf_01hsdn977e920kbgzt6r6c9rqc"}`,
		"6c05ef8fa83c44d751be6d259ec955ce5638e2c54095bf128e408e2fce1589c8",
	},
	{
		"VALID_SECRET", "", 1698796800, `{"data": ["1", "2"]}`,
		"a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9",
	},
	{
		"VALID_SECRET", "", 1698796800, `{"data": "value"}`,
		"28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261",
	},
}

// Of RFC 4231 (case 2), GitHub's page about validating deliveries, and stripe/stripe-node (test/crypto/helpers.ts).
var bodyVectors = []vector{
	{
		"Jefe", "", 0, "what do ya want for nothing?",
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
	},
	{
		"It's a Secret to Everybody", "", 0, "Hello, World!",
		"757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
	},
	{"test_secret", "", 0, "", "f7f9bd47fb987337b5796fdc1fdb9ba221d0d5396814bfcaf9521f43fd8927fd"},
	{
		"test_secret", "", 0, `{"obj1":"hello","obj2":"world"}`,
		"bebb1a643997f419b315ddba19e6f5411e1ce7f810ba6d3617ce72823092f363",
	},
	{"test_secret", "", 0, "\U0001f600", "837da296d05c4fe31f61d5d7ead035099d9585a5bcde87de952012a78f0b0c43"},
}

func TestPublishedSignaturesOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	const other = "Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	isStandard := func(_ scheme, header string) bool { return header == webhookSignature }
	eachScheme(t, isStandard, func(t *testing.T, p *Provider, _ string) {
		for _, v := range standardVectors {
			for _, secret := range []string{v.secret, strings.TrimPrefix(v.secret, "whsec_")} {
				for _, list := range []string{"v1,%", "v1," + other + " v2," + other + " v1,% v1," + other, "v1a,x v1,%"} {
					requireVector(t, p, v, secret, http.Header{
						webhookID: {v.id}, webhookTime: {strconv.FormatInt(v.at, 10)},
						webhookSignature: {strings.ReplaceAll(list, "%", v.signature)},
					})
				}
			}
		}
	})
}

func TestPublishedSignatureOfStripe(t *testing.T) {
	t.Parallel()
	v := stripeVector
	const ofTestEvents = "63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef"
	requireVector(t, stripe, v, v.secret, http.Header{
		"Stripe-Signature": {"t=1533204620,v1=" + v.signature + ",v0=" + ofTestEvents},
	})
}

func TestPublishedSignaturesOfPaddle(t *testing.T) {
	t.Parallel()
	for _, v := range paddleVectors {
		at := "ts=" + strconv.FormatInt(v.at, 10)
		for _, header := range []string{
			at + ";h1=" + v.signature, at + ";h1=" + v.signature + ";h1=" + v.signature + ";h2=RANDOM_HASH",
		} {
			requireVector(t, paddle, v, v.secret, http.Header{"Paddle-Signature": {header}})
		}
	}
}

func TestPublishedSignaturesOfABodyAlone(t *testing.T) {
	t.Parallel()
	ofBody := func(s scheme, _ string) bool { return s.between == "" }
	eachScheme(t, ofBody, func(t *testing.T, p *Provider, header string) {
		for _, v := range bodyVectors {
			for _, signature := range []string{v.signature, "sha256=" + v.signature} {
				requireVector(t, p, v, v.secret, http.Header{header: {signature}})
			}
		}
	})
}

// requireVector checks that the vector is valid as far as five minutes from its time, and not with another body or
// secret.
func requireVector(t *testing.T, p *Provider, v vector, secret string, header http.Header) {
	t.Helper()
	verify := func(secret, body string, late time.Duration) (Signature, error) {
		s, err := p.NewSecret(secret)
		require.NoError(t, err)
		return p.Verify(header, []byte(body), []Secret{s}, time.Unix(v.at, 0).Add(late))
	}
	for _, late := range []time.Duration{-Tolerance, 0, Tolerance} {
		found, err := verify(secret, v.body, late)
		require.NoError(t, err, "%s %v", p.name, header)
		require.Equal(t, []string{v.id, v.signature}, []string{found.EventID, found.Text})
	}
	for _, late := range []time.Duration{-Tolerance - time.Second, Tolerance + time.Second} {
		_, err := verify(secret, v.body, late)
		if v.at == 0 {
			require.NoError(t, err, "no time is signed")
		} else {
			require.ErrorIs(t, err, ErrTimestamp)
		}
	}
	_, err := verify(secret, v.body+" ", 0)
	require.ErrorIs(t, err, ErrSignature)
	_, err = verify("whsec_QW5vdGhlciBzZWNyZXQ=", v.body, 0)
	require.ErrorIs(t, err, ErrSignature)
}

// eachScheme calls test with each header of each provider's schemes for which isOne is true.
func eachScheme(
	t *testing.T, isOne func(s scheme, header string) bool, test func(t *testing.T, p *Provider, header string),
) {
	t.Helper()
	for _, p := range All {
		for _, s := range p.schemes {
			for _, header := range s.headers {
				if isOne(s, header) {
					t.Run(p.name+" "+header, func(t *testing.T) { test(t, p, header) })
				}
			}
		}
	}
}
