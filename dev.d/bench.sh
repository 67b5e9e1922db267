# shellcheck shell=bash
# ./dev bench [arguments of bench/run.py]: measures the table of docs/benchmarks.md on this machine.

verb_bench() {
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/build.txt
  setup_bench
  build release
  build release rpc_bench # no other target needs it
  [ -f bench/run.py ] || die "bench/run.py is missing"
  say "Measuring (bench/run.py $*)"
  python3 bench/run.py "$@"
}
