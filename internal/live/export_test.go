package live

// The steps of Apply, for a test that stops between them.
var (
	AdvanceFirst = advanceFirst
	FoldAndSave  = foldAndSave
)
