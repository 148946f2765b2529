#!/usr/bin/env bash
# Everything that must hold before a commit reaches main. Needs Go and a network
# for modules; takes a few minutes on two cores. Ends at the first failure.
#
#   ./test.sh          all of it
#   ./test.sh quick    without the race detector and the cross-builds
set -euo pipefail
cd "$(dirname "$0")"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

step() { printf '\n== %s\n' "$*"; }

step formatting
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
    printf 'gofmt -l:\n%s\n' "$unformatted"
    exit 1
fi

# The modules of the repository: the library, and what may have heavier needs.
modules=". bench cpu/_asm"

for module in $modules; do
    step "vet and staticcheck: $module"
    (cd "$module" && go vet ./... && go run "$staticcheck" ./...)
done

step tests
go test ./...
(cd bench && go test ./...)

step "tests without assembly"
go test -short -tags noasm ./cpu/... ./cmd/...

[ "${1:-}" = quick ] && exit

if [ "$(go env CGO_ENABLED)" = 1 ] || command -v gcc >/dev/null; then
    step "tests with the race detector"
    CGO_ENABLED=1 go test -short -race . ./cpu ./oracle ./internal/...
fi

step "a 32-bit machine"
GOARCH=386 CGO_ENABLED=0 go vet ./...
if [ "$(go env GOHOSTARCH)" = amd64 ]; then
    GOARCH=386 CGO_ENABLED=0 go test -short . ./cpu/... ./oracle ./vectors
fi

for target in linux/arm64 darwin/arm64 windows/amd64 wasip1/wasm js/wasm linux/riscv64; do
    step "cross-build: $target"
    GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go build ./...
done

step "all passed"
