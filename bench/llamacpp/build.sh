#!/usr/bin/env bash
# Builds llamacpp/chain against the llama.cpp that a Python's package
# llama-cpp-python carries (headers and shared library).
#
#   pip install llama-cpp-python==0.3.36     compiles llama.cpp, some minutes
#   bench/llamacpp/build.sh [PYTHON]         PYTHON is python3 by default
set -euo pipefail
cd "$(dirname "$0")"
python=${1:-python3}
# The package's own folder is asked for without importing it.
site=$("$python" -c 'import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec("llama_cpp").origin)))')
version=$("$python" -c 'import importlib.metadata as m; print(m.version("llama-cpp-python"))')
lib=$site/llama_cpp/lib
"${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -O3 -Wall -Wextra -I "$site/include" chain.c \
    -L "$lib" -Wl,-rpath,"$lib" -Wl,-rpath-link,"$lib" -lllama -o chain
echo "llama-cpp-python $version" >chain.version
echo "built $(pwd)/chain with llama-cpp-python $version"
