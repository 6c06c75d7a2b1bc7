// Package export writes the tables of a schema as files, for analysts.
//
// All files show one moment of the database. Their rows are in the order of their keys, and nothing in them depends on
// the machine or the clock, so two exports of the same rows have the same bytes. The folder gets its name when every
// file is durable: a folder with a manifest.json is complete.
package export
