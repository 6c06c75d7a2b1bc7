// Signs and verifies deliveries with the providers' own packages, for the tests in Go. Each line of the input is a
// request, each line of the output its answer, in the same order:
//
//   {do: "sign", by, secrets, id, at, body}   → {headers}: at is in seconds; one signature for each secret
//   {do: "verify", by, secrets, headers, body} → {}, or {error} if the package refuses the delivery
import { createHmac, webcrypto } from 'node:crypto'
import { createInterface } from 'node:readline'

import { Paddle } from '@paddle/paddle-node-sdk'
import { webhooks as polar } from '@polar-sh/sdk/2026-04'
import { verifyWebhookSignature as verifyCreem } from 'creem/webhooks'
import DodoPayments from 'dodopayments'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'

globalThis.crypto ??= webcrypto // Node.js 18

const stripe = new Stripe('sk_test_of_nobody')
const paddle = new Paddle('of nobody')
const dodo = new DodoPayments({ bearerToken: 'of nobody' })
const hmac = (secret, text) => createHmac('sha256', secret).update(text).digest('hex')

// ofBody is what the documentation of a provider says where no package signs: the hexadecimal HMAC of the body.
const ofBody = (header, verify) => ({
  sign: ({ secrets: [secret], body }) => ({ [header]: hmac(secret, body) }),
  verify,
})

const standard = (webhook, verify) => ({
  sign: ({ secrets, id, at, body }) => ({
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': secrets.map((secret) => webhook(secret).sign(id, new Date(at * 1000), body)).join(' '),
  }),
  verify,
})

const creem = (body, headers, secret) => verifyCreem(body, headers, secret)

const senders = {
  provider: ofBody('provider-signature'),
  payfold: ofBody('payfold-signature'),
  lemonsqueezy: ofBody('x-signature'), // its package neither signs nor verifies
  creem: standard((secret) => new Webhook(secret), creem),
  'creem-signature': ofBody('creem-signature', creem),
  'x-creem-signature': ofBody('x-creem-signature', creem),
  dodo: standard(
    (secret) => new Webhook(secret),
    (body, headers, key) => dodo.webhooks.unwrap(body, { headers, key }),
  ),
  // Polar's server signs with the text of the secret. Its package accepts what the base64 after whsec_ says, too.
  polar: standard((secret) => new Webhook(secret, { format: 'raw' }), polar.validateEvent),
  'polar-base64': standard((secret) => new Webhook(secret), polar.validateEvent),
  stripe: {
    sign: ({ secrets, at, body }) => {
      const [first, ...others] = secrets.map((secret) =>
        stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at }),
      )
      return { 'stripe-signature': [first, ...others.map((header) => header.split(',')[1])].join(',') }
    },
    verify: (body, headers, secret) => stripe.webhooks.constructEvent(body, headers['stripe-signature'], secret),
  },
  paddle: {
    // The package only verifies.
    sign: ({ secrets, at, body }) => ({
      'paddle-signature': [`ts=${at}`, ...secrets.map((secret) => `h1=${hmac(secret, `${at}:${body}`)}`)].join(';'),
    }),
    verify: (body, headers, secret) => paddle.webhooks.unmarshal(body, secret, headers['paddle-signature']),
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  const sender = senders[request.by]
  let answer
  try {
    if (request.do === 'sign') {
      answer = { headers: sender.sign(request) }
    } else {
      await sender.verify(request.body, request.headers, request.secrets[0])
      answer = {}
    }
  } catch (error) {
    answer = { error: String(error) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
