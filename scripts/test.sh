#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; ctest's closing line is the last thing printed.
#   ./scripts/test.sh             all but the slow tests
#   ./scripts/test.sh --slow      the slow ones too
#   ./scripts/test.sh --yes       does not ask before installing
# Further arguments go to ctest: ./scripts/test.sh -R tokenizer
source "$(dirname "$0")/common.sh"

setup_options="--tests"
ctest_options=()
slow=no
for option in "$@"; do
  case $option in
    --slow) slow=yes ;;
    --yes) setup_options+=" --yes" ;;
    -h | --help) print_head "$0"; exit 0 ;;
    *) ctest_options+=("$option") ;;
  esac
done
[ "$slow" = yes ] || ctest_options+=(-LE slow)

become_invoking_user ./scripts/test.sh "$setup_options" "$@"
# shellcheck disable=SC2086
./scripts/setup.sh $setup_options
step "Building"
cmake --preset release -DATHANOR_TESTS=ON
cmake --build --preset release --parallel "$(build_jobs)"
step "Testing"
exec ctest --test-dir build/release --parallel "$(nproc)" --output-on-failure "${ctest_options[@]}"
