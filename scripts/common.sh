# shellcheck shell=bash disable=SC2034
# What the scripts share; read by them with `source`, never run by itself. Leaves the shell in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deps=build/deps

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Prints the comment at the head of a script, which is its help.
print_head() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$1"; }

# Under `sudo ./scripts/demo.sh` only apt needs root: all else runs as the user who typed it, so that build/ and runs/ stay theirs.
become_invoking_user() {
  local script=$1 setup_options=$2
  shift 2
  if [ "$EUID" -eq 0 ] && [ "${SUDO_UID:-0}" -ne 0 ]; then
    # shellcheck disable=SC2086
    ./scripts/setup.sh --apt-only $setup_options
    chown -R --from=root "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" build
    exec sudo -u "#$SUDO_UID" -- "$script" --yes "$@"
  fi
}

# Compiler processes at once: one for each 1.5 GB of memory that is free now, at most one a processor, at least one.
build_jobs() {
  local processors available limit used
  processors=$(nproc)
  available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  # A container may be allowed less than the machine has.
  if [ -r /sys/fs/cgroup/memory.max ] && limit=$(cat /sys/fs/cgroup/memory.max) && [ "$limit" != max ]; then
    used=$(cat /sys/fs/cgroup/memory.current)
    limit=$(((limit - used) / 1048576))
    [ "$limit" -lt "$available" ] && available=$limit
  fi
  local jobs=$((available / 1500))
  [ "$jobs" -gt "$processors" ] && jobs=$processors
  [ "$jobs" -lt 1 ] && jobs=1
  echo "$jobs"
}
