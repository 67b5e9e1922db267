# shellcheck shell=bash
# ./dev demo: records a running PyTorch training script by its process ID and prints where the result is.
# ./dev demo gpu: records a job together with its GPU: the training script if there is a GPU and a PyTorch that sees it
# (the python3 of PATH), else a job on doubles of CUDA's libraries.

DEMO_SECONDS=10

verb_demo() {
  case ${1:-} in
    gpu) demo_gpu ;;
    '') demo_training ;;
    *) die "there is no demo '$1': ./dev demo, or ./dev demo gpu" ;;
  esac
}

has_gpu() {
  [ -e /dev/nvidiactl ] && python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null
}

demo_gpu() {
  local out=$PP_ROOT/build/demo record=$PP_ROOT/build/bin/ptrace-prof job word='' truth
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/build.txt
  mkdir -p "$out"
  if has_gpu; then
    build release ptrace-prof
    truth="All of it is real."
    say "Starting a training script on this machine's GPU (tests/demo/train_transformer.py --device cuda)"
    coproc JOB { exec python3 tests/demo/train_transformer.py --device cuda --seconds 120 2>"$out/gpu.log"; }
  else
    build release ptrace-prof cuda_double
    truth="There is no GPU here with a PyTorch that sees it: kernels, their times and the device are doubles'; all else is real."
    say "Starting a job on doubles of CUDA's libraries (tests/targets/cuda_job.py)"
    coproc JOB { exec /usr/bin/python3 tests/targets/cuda_job.py --rate 5000 --threads 2 2>"$out/gpu.log"; }
  fi
  job=$JOB_PID
  # shellcheck disable=SC2064 # expanded now, for this process
  trap "kill $job 2>/dev/null || true; wait $job 2>/dev/null || true" EXIT
  # Either job prints a line like this when it runs; earlier lines come from other programs.
  while read -r -u "${JOB[0]}" word && [[ $word != ready* && $word != running* ]]; do :; done
  [[ $word == ready* || $word == running* ]] || { tail -n 5 "$out/gpu.log" >&2; die "the job did not start (above)"; }
  say "Recording it for 2 s: ptrace-prof record --pid $job --gpu --mode trace"
  "$record" record --pid "$job" --gpu --mode trace --duration 2 -o "$out/gpu.pftrace"
  "$record" export "$out/gpu.pftrace" -o "$out/gpu.html"
  "$record" export "$out/gpu.pftrace" --report kernels | head -n 20 || true
  say "Done. $truth Open one of:"
  note "$out/gpu.html      timeline with a row for each stream, GPU time by kernel and by function"
  note "$out/gpu.pftrace   in https://ui.perfetto.dev"
}

demo_training() {
  local out=$PP_ROOT/build/demo record=$PP_ROOT/build/bin/ptrace-prof training word pid
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/{build,demo}.txt
  build release ptrace-prof
  mkdir -p "$out"
  say "Starting a training script (tests/demo/train_transformer.py)"
  # It trains for two minutes at most, even if this script is killed.
  coproc TRAINING { exec /usr/bin/python3 tests/demo/train_transformer.py --seconds 120 2>"$out/training.log"; }
  training=$TRAINING_PID
  # The script ends its own workers when it is asked to end.
  # shellcheck disable=SC2064 # expanded now, for this process
  trap "kill $training 2>/dev/null || true; wait $training 2>/dev/null || true" EXIT
  # Earlier lines come from Python.
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
