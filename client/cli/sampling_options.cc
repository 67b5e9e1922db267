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
  app.add_flag("--blocking", o.blocking, "Stop the process for every sample: exact, but slows it down");
  app.add_flag("--no-stops", o.no_stops, "Never stop a thread, not even briefly for a doubtful sample");
  app.add_option("--max-overhead", o.max_overhead, "CPU that we may use, of one core (default: 1%); off: no limit")
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
