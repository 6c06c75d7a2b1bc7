package tables

import "fmt"

// Index is an index of a derived table. Tables that a rebuild fills get their indexes after
// the first chunk: that is faster than to update the indexes with every row.
type Index struct {
	Name, Table string
	Create      string // the statement that creates the index
	Key         string // the statement that makes it the index of a key; empty where it is none
	LiveOnly    bool   // a rebuild does without it: explain and the console, out-of-order events, invitations
}

// indexOn declares an index of a table.
type indexOn func(table string) Index

func primary(columns string) indexOn { return key("pkey", "primary key", columns) }

func key(suffix, kind, columns string) indexOn {
	return func(table string) Index {
		i := unique(suffix, "("+columns+")")(table)
		i.Key = fmt.Sprintf("alter table %s add constraint %s %s using index %[2]s", table, i.Name, kind)
		return i
	}
}

func unique(suffix, on string) indexOn { return indexOf("unique index", suffix, on) }

func plain(suffix, on string) indexOn { return indexOf("index", suffix, on) }

func indexOf(kind, suffix, on string) indexOn {
	return func(table string) Index {
		name := table + "_" + suffix
		return Index{Name: name, Table: table, Create: fmt.Sprintf("create %s %s on %s %s", kind, name, table, on)}
	}
}

func liveOnly(on indexOn) indexOn {
	return func(table string) Index {
		i := on(table)
		i.LiveOnly = true
		return i
	}
}
