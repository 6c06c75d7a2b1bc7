// Package powercut is a disk for tests that forgets what was not fsynced, as far
// as a real one may.
//
// A Disk is a tree of files and folders in memory, mounted with FUSE. What a
// process writes is there at once, for every process. Durable is only what an
// fsync of that very file, or of that very folder, has covered: an fsync of a file
// does not save its name, one of a folder not what is in its files. Cut ends the
// power: every later operation fails, and Survivor is what the machine finds when
// it starts again: all that is durable, and of the rest anything from nothing to
// everything, in any order, in pieces of a sector; a longer length without its
// bytes, names without files' contents, one half of a move between folders.
package powercut
