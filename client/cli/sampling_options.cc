#include "client/cli/sampling_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace ptrace_prof {

void SamplingOptions::DeclarePid(CLI::App& app, const char* description) {
  app.add_option("-p,--pid", options_.pid, description)->type_name("PID");
}

void SamplingOptions::DeclareRate(CLI::App& app) {
  app.add_option("-r,--rate", options_.rate,
                 fmt::format("Samples per second of each thread: 500, 1khz, max (default: {:g})", kDefaultRateHz))
      ->type_name("HZ");
}

void SamplingOptions::DeclareChoice(CLI::App& app) {
  RecordOptions& o = options_;
  app.add_option("--threads", o.threads, "Only these threads: TID,TID...")->type_name("TIDS");
  app.add_flag("--gil", o.gil, "Only the thread that holds the GIL");
  app.add_option("--idle", o.idle,
                 "Threads that wait: main (default: only the main thread's waits), all, none; alone: all")
      ->type_name("WHICH")
      ->expected(0, 1);
  app.add_flag("--no-subprocesses", no_subprocesses_, "Only the process itself, not its children");
  app.add_flag("--subprocesses", subprocesses_, "Its children too (default)")->excludes("--no-subprocesses");
  app.add_flag(
      "--nonblocking,--no-stops", o.nonblocking,
      "Stop nothing: stacks that move while they are read are cut and marked torn (default: a thread that runs "
      "is stopped for some tens of microseconds for each sample)");
  app.add_flag("--blocking", o.blocking, "Stop the whole process for every sample: all threads at one instant");
  app.add_option("--max-overhead", o.max_overhead,
                 "CPU that we may use, of one core, at the price of the rate (default: off, no limit)")
      ->type_name("PCT");
  app.add_option("--max-stopped", o.max_stopped,
                 "Time for which the process may stand still for us (default: 1%, no limit with --rate); off: no limit")
      ->type_name("PCT");
  idle_ = app.get_option("--idle");
}

void SamplingOptions::Finish() {
  if (idle_->count() > 0 && options_.idle.empty()) {
    options_.idle = "all";
  }
  options_.subprocesses = !no_subprocesses_;
}

}  // namespace ptrace_prof
