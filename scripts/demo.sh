#!/usr/bin/env bash
# Installs what is missing, builds athanor, trains a small model on 38 plays of Shakespeare and lets it write; minutes on two cores.
#   ./scripts/demo.sh             a second call does only what is left; rm -r runs/demo starts the training over
#   ./scripts/demo.sh --yes       does not ask before installing
# The training is scripts/demo.yaml, the run is kept in runs/demo.
source "$(dirname "$0")/common.sh"

setup_options=
for option in "$@"; do
  case $option in
    --yes) setup_options=--yes ;;
    -h | --help) print_head "$0"; exit 0 ;;
    *) say "error: demo.sh: unknown option $option; --help lists them" >&2; exit 2 ;;
  esac
done

become_invoking_user ./scripts/demo.sh "$setup_options" "$@"
# shellcheck disable=SC2086
./scripts/setup.sh $setup_options

step "Building"
# A folder that test.sh configured keeps its tests; only the program is built here.
if [ -f build/release/CMakeCache.txt ]; then
  cmake --preset release >build/configure.log || { cat build/configure.log >&2; die "cmake failed"; }
else
  cmake --preset release -DATHANOR_TESTS=OFF
fi
cmake --build --preset release --parallel "$(build_jobs)" --target athanor
athanor=build/release/athanor

step "Training (scripts/demo.yaml)"
# --resume goes on from the last checkpoint, and has nothing to do when the run is complete.
if [ -e runs/demo ]; then
  "$athanor" train scripts/demo.yaml --resume
else
  "$athanor" train scripts/demo.yaml
fi

step "What the model writes, 200 tokens after \"ROMEO\""
"$athanor" generate -m runs/demo -p $'**ROMEO**  \n' -n 200 --temp 0.8 --seed 1
say ""

step "The run is in runs/demo. Next, try"
say "  $athanor generate -m runs/demo -p 'To be, or not to be' -n 200 --temp 0.8     # another opening; --seed N writes something else"
say "  $athanor train YOUR_TEXTS/ -o runs/mine --minutes 10                          # the same for any folder of texts"
say "  $athanor doctor                                                               # what this machine offers, and whether it computes right"
