# shellcheck shell=bash
# ./dev build [preset] [targets…]

PRESETS="release debug asan tsan fuzz static"

# The build folder of a preset. Release programs go to build/bin, those of other presets to bin in their build folder.
build_dir() { echo "${PP_BUILD_DIR:-$PP_ROOT/build/$1}"; }
binary_dir() {
  if [ "$1" = release ]; then echo "$PP_ROOT/build/bin"; else echo "$(build_dir "$1")/bin"; fi
}

configure() {
  local preset=$1 dir
  dir=$(build_dir "$preset")
  mkdir -p "$dir"
  cmake --preset "$preset" -B "$dir" -DPP_BINARY_DIR="$(binary_dir "$preset")" >"$dir/configure.log" 2>&1 ||
    { tail -n 30 "$dir/configure.log" >&2; die "cmake could not configure (above)"; }
}

build() {
  local preset=$1 dir started
  shift
  dir=$(build_dir "$preset")
  # Lets clones and work trees in different places share compiled objects.
  export CCACHE_BASEDIR=$PP_ROOT CCACHE_NOHASHDIR=1
  started=$(date +%s)
  say "Building ($preset, $PP_JOBS jobs) in $dir"
  configure "$preset"
  cmake --build "$dir" --parallel "$PP_JOBS" ${1:+--target "$@"} >&2 || die "the build failed (above)"
  note "built in $(seconds_since "$started") s: $(binary_dir "$preset")"
}

verb_build() {
  local preset=release
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  if [ $# -gt 0 ]; then
    preset=$1
    shift
  fi
  grep -qw -- "$preset" <<<"$PRESETS" || die "there is no preset '$preset'; there are: $PRESETS"
  setup_build
  [ "$preset" = fuzz ] && setup_fuzz
  build "$preset" "$@"
}
