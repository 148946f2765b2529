#!/usr/bin/env bash
# The whole measurement, some minutes on a machine that does nothing else:
# data/cpu-DATE.json, data/cpu.svg and, where the README has the markers, its
# tables.
#
#   bench/run.sh [flags of cmd/cpu]
#
# llama.cpp takes part if llamacpp/chain was built, or can be built because
# $LLAMA_PYTHON (python3 by default) has the package llama-cpp-python.
set -euo pipefail
cd "$(dirname "$0")"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

if [ ! -x llamacpp/chain ] && ! llamacpp/build.sh "${LLAMA_PYTHON:-python3}"; then
    echo "llama.cpp is left out: see llamacpp/build.sh" >&2
fi
mkdir -p data
go run ./cmd/cpu "$@"
if compgen -G 'data/cpu-*.json' >/dev/null; then
    go run ./cmd/plot
    if grep -q '<!-- bench:cpu:begin -->' ../README.md; then
        go run ./cmd/tables
    fi
fi
