# payfold: make help lists what there is.

GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build test lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: ## build what there is
	go build -trimpath ./...

test: ## all tests: real PostgreSQL, real JetStream, the race detector
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && go test -race -shuffle=on -timeout 10m ./...

lint: ## gofumpt, go vet, staticcheck
	@unformatted="$$(go run $(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

clean: ## remove what build made
	rm -rf bin
