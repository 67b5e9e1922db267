# shellcheck shell=bash
# ./dev demo: records a live PyTorch training script by its PID and says where the picture is.

DEMO_SECONDS=10

verb_demo() {
  local out=$PP_ROOT/build/demo record=$PP_ROOT/build/bin/ptrace-prof training word pid
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/{build,demo}.txt
  build release ptrace-prof
  mkdir -p "$out"
  say "Starting a training script (tests/demo/train_transformer.py)"
  # It trains for two minutes at most, whatever becomes of us.
  coproc TRAINING { exec /usr/bin/python3 tests/demo/train_transformer.py --seconds 120 2>"$out/training.log"; }
  training=$TRAINING_PID
  # It ends its own workers when it is asked to end.
  # shellcheck disable=SC2064 # the process of now
  trap "kill $training 2>/dev/null || true; wait $training 2>/dev/null || true" EXIT
  # What it prints before that is Python's own.
  while read -r -u "${TRAINING[0]}" word pid && [ "$word" != ready ]; do :; done
  [ "${word:-}" = ready ] || { tail -n 5 "$out/training.log" >&2; die "the training script did not start (above)"; }
  note "it trains, as process $pid"
  say "Recording it for $DEMO_SECONDS s: ptrace-prof record --pid $pid"
  "$record" record --pid "$pid" --duration "$DEMO_SECONDS" -o "$out/training.pftrace"
  "$record" export "$out/training.pftrace" -o "$out/training.html"
  "$record" export "$out/training.pftrace" --format text | head -n 20 || true
  say "Done. Open one of:"
  note "$out/training.html      flame graph, timeline and search, in any browser, offline"
  note "$out/training.pftrace   in https://ui.perfetto.dev"
}
