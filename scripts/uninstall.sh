#!/usr/bin/env bash
# Removes build/: all that the scripts fetched and built. Runs, models and texts of yours stay (runs/ too).
# Packages of the distribution stay as well; it prints the command that removes those which setup.sh installed.
source "$(dirname "$0")/common.sh"

case ${1:-} in
  "") ;;
  -h | --help) print_head "$0"; exit 0 ;;
  *) say "error: uninstall.sh: unknown option $1; --help tells what it does" >&2; exit 2 ;;
esac
packages=
[ -f "$deps/apt-installed.txt" ] && packages=$(sort -u "$deps/apt-installed.txt" | xargs)
if [ -d build ]; then
  say "Removing build/ ($(du -sh build | cut -f1))."
  rm -rf build
else
  say "Nothing to remove: there is no build/."
fi
[ -d runs ] && say "Kept: runs/."
[ -z "$packages" ] || say "setup.sh installed these packages; to remove them with what came along: apt-get autoremove $packages"
