package tables

import (
	"fmt"
	"strings"
)

// Index is an index of a derived table. A rebuild creates each index when it is needed. That is
// faster than to update the index with every row.
type Index struct {
	Name, Table string
	Create      string // the statement that creates the index
	Key         string // the statement that makes it the index of a key; empty if there is no key
	Since       Stage
	OfSome      bool // it has only the rows that meet a condition
}

// Stage is how far tables are. Tables at a stage have the indexes of that stage and of earlier stages.
type Stage int

const (
	// Complete: a rebuild has ended. Its indexes find the rows that a fold needs, and keep keys unique.
	Complete Stage = iota
	// InUse: the tables are live, or people look at them as of a message. Its indexes find rows for the
	// out-of-order events of live work, for explain and for the console.
	InUse
)

// indexOn declares an index of a table.
type indexOn func(table string) Index

// primary declares the primary key. With it a table has no need of ReplicaIdentity any more.
func primary(columns string) indexOn {
	return func(table string) Index {
		i := key("pkey", "primary key", columns)(table)
		i.Key += ", replica identity default"
		return i
	}
}

// ReplicaIdentity returns the statement by which Postgres takes updates and deletes of a table without a primary key,
// while a publication has the table: for example one for all tables. It comes before the first row.
func ReplicaIdentity(table string) string { return "alter table " + table + " replica identity full" }

func key(suffix, kind, columns string, more ...string) indexOn {
	return func(table string) Index {
		i := unique(suffix, "("+columns+")")(table)
		i.Key = strings.Join(append([]string{"alter table", table, "add constraint", i.Name, kind, "using index", i.Name}, more...), " ")
		return i
	}
}

func unique(suffix, on string) indexOn { return indexOf("unique index", suffix, on) }

func plain(suffix, on string) indexOn { return indexOf("index", suffix, on) }

func indexOf(kind, suffix, on string) indexOn {
	return func(table string) Index {
		name := table + "_" + suffix
		return Index{
			Name: name, Table: table, Create: fmt.Sprintf("create %s %s on %s %s", kind, name, table, on),
			OfSome: strings.Contains(on, " where "),
		}
	}
}

// inUse declares an index that tables have from the stage InUse on.
func inUse(on indexOn) indexOn {
	return func(table string) Index {
		i := on(table)
		i.Since = InUse
		return i
	}
}
