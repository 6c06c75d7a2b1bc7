// Package powercut is a disk that can lose everything that was not fsynced when the power is cut, as a real disk can.
// Its tests run ingest on it.
//
// A Disk is a tree of files and folders in memory, mounted with FUSE. Every process sees a
// write at once. A write is durable only after an fsync of that file, or of that folder: an
// fsync of a file does not make its name durable, and an fsync of a folder does not make the
// content of its files durable. CutAfter cuts the power: every later operation fails.
// Survivor returns what the machine finds when it starts again. That is everything durable,
// and a random part of the rest, in any order and in pieces of a sector: a longer length
// without its bytes, names without content, or one half of a move between folders.
package powercut
