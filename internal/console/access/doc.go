// Package access decides who may look at the console.
//
//	request ─▶ a name of the console? ─▶ GET or HEAD? ─▶ who? ─▶ the pages, with Viewer
//	             421                       405           401
//
// There are three ways in. A token: its link begins a session, and scripts send it as a Bearer
// credential. A trusted proxy, which names the user in a header. An OpenID Connect issuer, where
// people log in.
//
// A session is a cookie, signed with a key of the process: it ends after sessionTime, with the ID
// token, with a logout, and with the process. It does not contain the token.
//
// The caller sets the headers that keep browsers from storing, framing and sniffing an answer: they are those of the pages.
//
// The log names who logged in and which attempts failed. It has no token, code or cookie.
package access
