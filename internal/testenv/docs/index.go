package docs

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// otherVariables are not declared by payfold's programs: libraries and the Go runtime read them, or payfold does as
// other programs do.
var otherVariables = strings.Fields(`GOMEMLIMIT GOMAXPROCS GOGC NOTIFY_SOCKET
	AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_PROFILE AWS_REGION
	OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_PROTOCOL OTEL_TRACES_EXPORTER
	OTEL_SDK_DISABLED OTEL_TRACES_SAMPLER OTEL_TRACES_SAMPLER_ARG OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TIMEOUT
	OTEL_EXPORTER_OTLP_COMPRESSION OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE
	OTEL_EXPORTER_OTLP_CLIENT_KEY OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_BSP_MAX_QUEUE_SIZE
	OTEL_BSP_MAX_EXPORT_BATCH_SIZE OTEL_BSP_SCHEDULE_DELAY OTEL_BSP_EXPORT_TIMEOUT`)

var (
	variable  = regexp.MustCompile(`^\$?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:[=/].*)?$`)
	assigned  = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)=`)
	declared  = regexp.MustCompile(`env:"([A-Z0-9_,]+)"`)
	makeGiven = regexp.MustCompile(`(?m)^([A-Z_]+) \?=`)
	makeGoal  = regexp.MustCompile(`(?m)^([a-z-]+):`)
	envPrefix = regexp.MustCompile(`envprefix:"([A-Z0-9_]+)"`)
	makeAsked = regexp.MustCompile(`(?:^|[;&|] *|=\S+ )make ([a-z-]+)`)
	metric    = regexp.MustCompile(`(?:Name:\s+|NewDesc\(|const \w+ = )"(payfold_[a-z_]+)"`)
	// what the unit of a timer writes for node_exporter
	unitMetric = regexp.MustCompile(`echo "(payfold_[a-z_]+) `)

	prefixed  = regexp.MustCompile(`\bpayfold_[a-z_]+`)
	alertName = regexp.MustCompile(`\bPayfold[A-Z]\w+`)
	goTest    = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+`)
	testFunc  = regexp.MustCompile(`\nfunc ((?:Test|Benchmark|Fuzz)\w+)\(`)
	created   = regexp.MustCompile(`create (?:table|view)(?: if not exists)? (?:\w+\.)?(\w+)`)
	attribute = regexp.MustCompile(`attribute\.\w+\("([a-z._]+)"`)
	goName    = regexp.MustCompile(`^([a-z]+)\.([a-z]*[A-Z]\w*)`)
	table     = regexp.MustCompile(`\b(?:portal|payfold)\.([a-z_]+)\b`)
	pathLike  = regexp.MustCompile(`^[\w./-]+$`)
	fileTypes = []string{".go", ".sql", ".sh", ".md", ".conf"}
)

// index has the names that exist in a repository.
type index struct {
	r                                        *Repository
	folders                                  map[string]bool // in the root folder
	variables, goals, metrics, tests, tables map[string]bool // by name
	alerts                                   map[string]bool
	attributes                               map[string]bool            // of spans
	packages                                 map[string]map[string]bool // all words of a Go package without its tests
	deployWords                              map[string]bool
}

func (r *Repository) makeIndex() *index {
	x := &index{
		r: r, attributes: map[string]bool{}, folders: map[string]bool{}, variables: map[string]bool{}, goals: map[string]bool{}, metrics: map[string]bool{},
		tests: map[string]bool{}, tables: map[string]bool{}, alerts: map[string]bool{}, packages: map[string]map[string]bool{}, deployWords: map[string]bool{},
	}
	add(x.variables, otherVariables...)
	alerts, _ := r.alerts()
	add(x.alerts, alerts...)
	for file, text := range r.files {
		for _, match := range created.FindAllStringSubmatch(text, -1) {
			x.tables[match[1]] = true
		}
		if folder, _, inside := strings.Cut(file, "/"); inside {
			x.folders[folder] = true
		}
		switch {
		case strings.HasSuffix(file, "_test.go"):
			x.addTests(text)
		case strings.HasSuffix(file, ".go"):
			x.addSource(file, text)
		case file == "Makefile":
			for _, match := range makeGiven.FindAllStringSubmatch(text, -1) {
				x.variables[match[1]] = true
			}
			for _, match := range makeGoal.FindAllStringSubmatch(text, -1) {
				x.goals[match[1]] = true
			}
		case strings.HasPrefix(file, "deploy/"):
			add(x.deployWords, words(text)...)
			for _, match := range unitMetric.FindAllStringSubmatch(text, -1) {
				x.metrics[match[1]] = true
			}
		}
	}
	return x
}

func (x *index) addSource(file, text string) {
	for _, match := range declared.FindAllStringSubmatch(text, -1) {
		names := strings.Split(match[1], ",")
		add(x.variables, names...)
		for _, prefix := range envPrefix.FindAllStringSubmatch(text, -1) {
			for _, name := range names {
				add(x.variables, prefix[1]+name)
			}
		}
	}
	for _, match := range metric.FindAllStringSubmatch(text, -1) {
		x.metrics[match[1]] = true
	}
	for _, match := range attribute.FindAllStringSubmatch(text, -1) {
		x.attributes[match[1]] = true
	}
	name := path.Base(path.Dir(file))
	if x.packages[name] == nil {
		x.packages[name] = map[string]bool{}
	}
	add(x.packages[name], words(text)...)
}

// words splits a text at all that no name of Go has.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func (x *index) addTests(text string) {
	for _, match := range testFunc.FindAllStringSubmatch(text, -1) {
		x.tests[match[1]] = true
	}
}

func add(set map[string]bool, names ...string) {
	for _, name := range names {
		set[name] = true
	}
}

// missing lists the names in a piece of code that the repository does not have.
func (x *index) missing(code string) []string {
	var out []string
	check := func(exists bool, kind, name string) {
		if !exists {
			out = append(out, kind+" "+name)
		}
	}
	for _, name := range goTest.FindAllString(code, -1) {
		check(x.tests[name], "test", name)
	}
	for _, name := range alertName.FindAllString(code, -1) {
		check(x.alerts[name], "alert", name)
	}
	for _, match := range makeAsked.FindAllStringSubmatch(code, -1) {
		check(x.goals[match[1]], "make target", match[1])
	}
	for _, name := range prefixed.FindAllString(code, -1) {
		check(x.metrics[name] || x.deployWords[name], "metric", name)
	}
	for _, match := range table.FindAllStringSubmatch(code, -1) {
		check(x.tables[match[1]] || x.attributes[match[0]], "table", match[0])
	}
	words := strings.Fields(code)
	for i, token := range words {
		token = strings.Trim(token, `,.;:()"'[]`)
		if x.isPath(token) {
			check(x.hasPath(token), "path", token)
		}
		if match := goName.FindStringSubmatch(token); match != nil && x.packages[match[1]] != nil {
			check(x.packages[match[1]][match[2]], "Go name", token)
		}
		match := assigned.FindStringSubmatch(token)
		if match == nil && (len(words) == 1 || words[i] == "export") {
			match = variable.FindStringSubmatch(token)
		}
		if match != nil {
			check(x.variables[match[1]] || x.deployWords[match[1]], "variable", match[1])
		}
	}
	return out
}

func (x *index) isPath(token string) bool {
	if !pathLike.MatchString(token) {
		return false
	}
	folder, _, inside := strings.Cut(token, "/")
	return inside && x.folders[folder] || slices.Contains(fileTypes, path.Ext(token)) && !strings.HasPrefix(token, "/")
}

// hasPath also accepts the end of a path, such as webhook/handler.go.
func (x *index) hasPath(token string) bool {
	if x.r.has(token) {
		return true
	}
	for file := range x.r.files {
		if strings.HasSuffix(file, "/"+token) {
			return true
		}
	}
	return false
}
