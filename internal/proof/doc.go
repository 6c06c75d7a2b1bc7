// Package proof makes and checks signed checkpoints of the log, and proofs of one event. A checkpoint states the
// fingerprint of all messages up to some sequence, and a proof that one message is among them.
//
//	log ──Signer.Sign──▶ checkpoint, kept elsewhere
//	log + checkpoint ──Compare──▶ the log still begins with the same messages
//	log + checkpoint ──Prove──▶ proof ──Check, offline──▶ the message was in the log
//
// A checkpoint is a signed note (c2sp.org/signed-note, c2sp.org/tlog-checkpoint), a proof is a
// file of c2sp.org/tlog-proof. Every comparison reads the messages and hashes their bytes again.
package proof
