package verify

// Freeze is freeze, for tests outside of the package.
var Freeze = freeze
