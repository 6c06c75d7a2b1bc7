package tables

import "fmt"

// Index is an index of a derived table, maybe that of a key. Tables that a rebuild
// fills have none of them to begin with: to make one at once is quicker than to keep it
// up.
type Index struct {
	Name, Table string
	Create      string // the statement
	Key         string // the statement that makes it a key; may be empty
	Live        bool   // only live work looks for rows by it: explain, noting disorder, and invitations
}

// indexOn declares an index of a table.
type indexOn func(table string) Index

// Indexes lists those of all tables.
func Indexes() (all []Index) {
	for _, t := range All {
		for _, on := range t.About().indexes {
			all = append(all, on(t.About().Name))
		}
	}
	return all
}

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

func onlyLive(on indexOn) indexOn {
	return func(table string) Index {
		i := on(table)
		i.Live = true
		return i
	}
}
