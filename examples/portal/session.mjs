// The session is a signed cookie. Scripts do not see it, and browsers do not send it with a POST of another site.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

// origin is where browsers see the shop.
export const { origin, protocol } = new URL(process.env.PUBLIC_URL ?? 'http://127.0.0.1:3000')
const secret = process.env.SESSION_SECRET || randomBytes(32) // without it, a restart signs everybody out
const mac = (text) => createHmac('sha256', secret).update(text).digest('base64url')

// sessionCookie begins a session, of a week; one of 0 seconds ends it.
export function sessionCookie(session, seconds = 604_800) {
  const text = Buffer.from(JSON.stringify({ ...session, until: Date.now() + seconds * 1000 })).toString('base64url')
  const secure = protocol === 'https:' ? '; Secure' : ''
  return `session=${text}.${mac(text)}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}

// sessionOf is the session of a request; undefined if nobody is signed in.
export function sessionOf(request) {
  const [, text, signature] = /(?:^|; )session=([\w-]+)\.([\w-]{43})(?:;|$)/.exec(request.headers.cookie) ?? []
  if (!text || !timingSafeEqual(Buffer.from(signature), Buffer.from(mac(text)))) return
  const session = JSON.parse(Buffer.from(text, 'base64url'))
  return session.until > Date.now() ? session : undefined
}
