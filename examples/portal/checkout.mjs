// Where a product is bought: a Payment Link of Stripe in LINK_<product>; without one, an event to send yourself. The
// products are those of payfold's catalogue (CATALOGUE_FILE).
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

export const { products } = JSON.parse(readFileSync(new URL('catalogue.json', import.meta.url)))
const send = 'STRIPE_WEBHOOK_SECRET=whsec_local_development bin/ingest send --provider stripe -'

// checkoutOf returns where the user buys the product: {link} or {command}; undefined if there is no such product.
// A buyer can write another user into a link, and so give the purchase away.
export function checkoutOf(product, user) {
  if (!Object.hasOwn(products, product)) return
  const link = process.env[`LINK_${product}`]
  if (link) return { link: `${link}?client_reference_id=${encodeURIComponent(user)}` }
  const event = JSON.stringify(invoicePaid(product, products[product], user), null, 1)
  return { command: `${send} <<'EVENT'\n${event}\nEVENT` }
}

// invoicePaid is what Stripe sends after a purchase, as far as payfold reads it.
function invoicePaid(product, { kind, prices: [{ amount, currency }] }, user) {
  const [id, now] = [randomUUID(), Math.floor(Date.now() / 1000)]
  const period = { start: now, end: now + 30 * 86_400 }
  const object = {
    id: `in_${id}`, object: 'invoice', customer: `cus_${user}`, status: 'paid', subtotal: amount, amount_paid: amount,
    currency, payments: { data: [{ payment: { payment_intent: `pi_${id}` } }] }, metadata: { user_id: user },
    lines: { data: [{ amount, quantity: 1, pricing: { price_details: { price: product } }, period }] },
  }
  if (kind === 'subscription') object.subscription = `sub_${id}`
  if (kind === 'pro') object.metadata.github_username = 'octocat'
  return { id: `evt_${id}`, object: 'event', type: 'invoice.paid', created: now, livemode: false, data: { object } }
}
