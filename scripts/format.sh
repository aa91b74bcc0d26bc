#!/usr/bin/env bash
# Formats all C++ with the pinned clang-format.
#   ./scripts/format.sh           rewrites files in place
#   ./scripts/format.sh --check   changes nothing; names what is not formatted and fails
source "$(dirname "$0")/common.sh"

mode=(-i)
case ${1:-} in
  "") ;;
  --check) mode=(--dry-run --Werror) ;;
  -h | --help) print_head "$0"; exit 0 ;;
  *) say "error: format.sh: unknown option $1; --help lists them" >&2; exit 2 ;;
esac
clang_format=$deps/venv/bin/clang-format
[ -x "$clang_format" ] || die "$clang_format is missing; ./scripts/setup.sh --tests installs it"

folders=()
for folder in src include tests bench examples; do [ -d "$folder" ] && folders+=("$folder"); done
find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 -n 16 -P "$(nproc)" "$clang_format" "${mode[@]}"
