// Package fingerprint condenses the log into one hash: the root of a Merkle tree (RFC 6962)
// with one leaf for each message. If one byte of the log was changed, or if messages were swapped
// or removed, the log has another root.
//
//	message ──Leaf──▶ 32 bytes ──Tree.Append──▶ right edge of the tree ──Tree.Root──▶ 32 bytes
//
// Leaf i of a log is its message with the i-th sequence: first, first+1, and so on. A leaf
// covers every field of an events.Message, in an encoding of its own: neither the order of a
// message's headers nor their names matter. So a message has the same leaf in the stream, in
// an archive, and in a log that was restored from it.
package fingerprint
