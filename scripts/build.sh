# Sourced by run, test and report: installs what is missing, configures and builds in build/, quietly. Everything it says goes to
# stderr; the output of each step is kept in a log beside what it made and shown only when the step fails.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$top/build

# Debian's and Ubuntu's names of what the program and its tests are built with.
# shellcheck disable=SC2034  # used where this file is sourced
build_packages=(g++ cmake ninja-build ccache libbenchmark-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
    libfmt-dev libboost-context-dev libpugixml-dev libgtest-dev libgmock-dev)
# What scripts/report draws and writes with.
# shellcheck disable=SC2034
report_packages=(python3-matplotlib python3-jinja2)

say() { printf '%s\n' "$*" >&2; }

# lock NAME: only one process at a time goes on, the others wait; until unlock NAME, or its end.
declare -A locks=()
lock() {
    local descriptor
    mkdir -p "$build"
    exec {descriptor}>"$build/$1.lock"
    if ! flock --nonblock "$descriptor"; then
        say "Waiting for another $1 in $build to end."
        flock "$descriptor"
    fi
    locks[$1]=$descriptor
}

unlock() {
    local descriptor=${locks[$1]}
    flock --unlock "$descriptor"
    exec {descriptor}>&-
}

# Says on stderr what runs, from the moment that it takes longer than two seconds: on a terminal in one line that is
# redrawn with the count of ninja or ctest, elsewhere once a minute. Ends with this script, however that ends.
watch_log() {
    local what=$1 log=$2 seconds=0 count never
    exec {never}<> <(:) # a pipe that nobody writes to: a sleep without a process that would outlive the watcher
    while kill -0 $$ 2>/dev/null; do
        read -rt 1 -u "$never" || ((++seconds))
        count=$(grep -aoE '^ *\[?[0-9]+/[0-9]+[] ]' "$log" 2>/dev/null | tail -n 1 | tr -d '[] ') || true
        if [[ -t 2 ]]; then
            ((seconds < 2)) || printf '\r%s ... %s\033[K' "$what" "$count" >&2
        elif ((seconds % 60 == 2)); then
            say "$what ... $count"
        fi
    done
}

# quietly WHAT LOG COMMAND...: runs the command with its output in LOG.
quietly() {
    local what=$1 log=$2 status=0 watcher
    shift 2
    : >"$log"
    watch_log "$what" "$log" &
    watcher=$!
    "$@" >"$log" 2>&1 </dev/null || status=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    if [[ -t 2 ]]; then
        printf '\r\033[K' >&2
    fi
    return "$status"
}

# step WHAT LOG COMMAND...: runs the command quietly; if it fails, shows what the log says of it and where the log is,
# and returns its status.
step() {
    local what=$1 log=$2 status=0
    quietly "$@" || status=$?
    if ((status != 0)); then
        # ninja goes on with what it had begun: what failed may stand well before the end.
        if grep -q '^FAILED' "$log"; then
            sed -n '/^FAILED/,$p' "$log" | grep -avE '^\[[0-9]+/[0-9]+\]|^[0-9]+ warnings? generated|^ninja: ' | head -n 40 | cut -c 1-300 >&2
        else
            tail -n 40 "$log" >&2
        fi
        say "$what failed; the whole log is $log"
    fi
    return "$status"
}

# install PACKAGE...: installs those that are missing. Exits with 4 where it may not or cannot.
install() {
    local package missing=() root=()
    for package in "$@"; do
        if [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) != installed* ]]; then
            missing+=("$package")
        fi
    done
    if ((${#missing[@]} == 0)); then
        return
    fi
    if ((EUID != 0)); then
        root=(sudo -n)
    fi
    if ! command -v apt-get >/dev/null || { ((EUID != 0)) && ! sudo -n true 2>/dev/null; }; then
        say "qkprof needs packages that this user may not install here; have them installed, then call this again:" \
            "apt-get install ${missing[*]}"
        exit 4
    fi
    say "Installing ${missing[*]}"
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet -o DPkg::Lock::Timeout=300)
    step "Reading the package lists" "$build/apt-update.log" "${apt[@]}" update || exit 4
    step "Installing packages" "$build/apt-install.log" \
        "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" || exit 4
}

# configure DIRECTORY OPTION...: runs CMake, unless it ran there with the same options in the same surroundings.
configure() {
    local directory=$1 options surroundings
    shift
    options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DQKPROF_WERROR="$([[ ${CI:-} == true ]] && echo ON || echo OFF)")
    if command -v ccache >/dev/null; then
        options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    fi
    options+=("$@")
    surroundings="$top ${options[*]} CXX=${CXX:-} CXXFLAGS=${CXXFLAGS:-} LDFLAGS=${LDFLAGS:-} CUDACXX=${CUDACXX:-}"
    surroundings+=" nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)" || true
    if [[ -f $directory/build.ninja && $(cat "$directory/configured" 2>/dev/null) == "$surroundings" ]]; then
        return
    fi
    mkdir -p "$directory"
    rm -f "$directory/configured"
    step "Configuring" "$directory/configure.log" cmake --fresh -S "$top" -B "$directory" "${options[@]}" || return
    printf '%s\n' "$surroundings" >"$directory/configured"
}
