// A small shop on payfold's tables: sign-in, prices, a page that waits for its payment, credits to spend, a licence.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { checkoutOf } from './checkout.mjs'
import * as pages from './pages.mjs'
import * as payfold from './payfold.mjs'
import { origin, sessionCookie, sessionOf } from './session.mjs'

const cost = 30 // credits, of a picture
const refusal = (status, text) => ({ status, page: pages.message(text) })

// A route returns {page} or {location}, and can set a cookie. The user is that of the session, never one whom an
// address or a form names.
const routes = {
  'GET /': async ({ user, url }) => {
    const spend = await payfold.spendOf(user, url.searchParams.get('key'))
    return { page: pages.account({ ...(await payfold.account(user)), spend, cost, key: randomUUID() }) }
  },
  'POST /spend': async ({ user, form }) => {
    const key = form.get('key') ?? '' // made once for each form, so a second click spends nothing
    if (!/^[\w-]{36}$/.test(key)) return refusal(400, 'This is not a form of the shop.')
    await payfold.spend(user, key, cost, 'a picture')
    return { location: `/?key=${key}` }
  },
  'GET /pricing': () => ({ page: pages.pricing() }),
  'GET /checkout': async ({ user, url }) => {
    const checkout = checkoutOf(url.searchParams.get('product'), user)
    if (!checkout) return refusal(404, 'There is no such product.')
    const [newest] = await payfold.payments(user, 0)
    const cookie = sessionCookie({ user, after: newest?.stream_seq })
    return checkout.link ? { location: checkout.link, cookie } : { page: pages.localCheckout(checkout), cookie }
  },
  // The provider's checkout leads here when it is done.
  'GET /bought': async ({ user, after }) => ({ page: pages.bought(await payfold.payments(user, after ?? 0)) }),
  'GET /history': async ({ user }) =>
    ({ page: pages.history(await payfold.payments(user, 0), await payfold.statement(user)) }),
  'GET /licence': async ({ user }) => ({ page: pages.licence(await payfold.licence(user)) }),
  'POST /sign-out': () => ({ location: '/', cookie: sessionCookie({}, 0) }),
}

// A real app puts its own sign-in here. This one believes any user id.
function signIn({ form }) {
  const user = form.get('user') ?? ''
  if (!/^[\w.@-]{1,100}$/.test(user)) return { status: 400, page: pages.signIn('That is not a user id.') }
  return { location: '/', cookie: sessionCookie({ user }) }
}

const script = { page: readFileSync(new URL('page.js', import.meta.url)), type: 'text/javascript' }
async function answer(request, response) {
  const [url, session] = [new URL(origin + request.url), sessionOf(request)]
  const name = `${request.method} ${url.pathname}`
  if (name === 'GET /page.js') return send(response, script)
  if (name === 'GET /changes') return tellChanges(session, response)
  const route = name === 'POST /sign-in' ? signIn : Object.hasOwn(routes, name) && routes[name]
  if (!route) return send(response, refusal(404, 'There is no such page.'))
  // No other site makes this browser spend. The cookie is not enough where sites share a domain.
  const post = request.method === 'POST'
  if (post && request.headers.origin !== origin) return send(response, refusal(403, `Open the shop at ${origin}.`))
  if (!session && route !== signIn) return send(response, { page: pages.signIn() })
  send(response, await route({ ...session, url, form: post && (await formOf(request)) }))
}

async function formOf(request) {
  let body = ''
  for await (const chunk of request) if ((body += chunk).length > 10_000) throw new Error('the form is too long')
  return new URLSearchParams(body)
}

// tellChanges sends an event at once, because the page is older than this request, and after each change.
function tellChanges(session, response) {
  if (!session) return response.writeHead(204).end() // the browser does not ask again
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  const tell = () => response.write('data: changed\n\n')
  const stop = payfold.onChange(session.user, tell)
  const alive = setInterval(() => response.write(':\n\n'), 20_000) // proxies end connections without data
  response.on('close', () => (clearInterval(alive), stop()))
  tell()
}

const policy = "default-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
function send(response, { location, status = location ? 303 : 200, page = '', type = 'text/html', cookie }) {
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`, 'content-security-policy': policy, 'cache-control': 'no-store',
    'x-content-type-options': 'nosniff', ...(location && { location }), ...(cookie && { 'set-cookie': cookie }),
  }).end(String(page))
}

const server = createServer((request, response) => answer(request, response).catch((error) => {
  console.error(`${request.method} ${request.url}:`, error.message)
  if (response.headersSent) return response.destroy()
  send(response, refusal(503, 'The shop cannot answer now. Nothing is lost: reload the page.'))
}))
payfold.listen()
server.listen(process.env.PORT ?? 3000, '127.0.0.1', () => console.log(`the shop is open at ${origin}`))
