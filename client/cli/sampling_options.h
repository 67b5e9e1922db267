// The options of every command that samples a process (record, top): declared here, so that they read and mean the same
// everywhere.
//
// Owned by the command, which keeps the RecordOptions that are filled; call Finish() after the parse.
#pragma once

#include "client/cli/record_plan.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ptrace_prof {

class SamplingOptions {
 public:
  explicit SamplingOptions(RecordOptions& options) : options_(options) {}

  void DeclarePid(CLI::App& app, const char* description);
  void DeclareRate(CLI::App& app);
  // Which threads and processes, and how they may be touched.
  void DeclareChoice(CLI::App& app);
  void Finish();

 private:
  RecordOptions& options_;
  bool subprocesses_ = false;  // as by default; only there to be written
  bool no_subprocesses_ = false;
  const CLI::Option* idle_ = nullptr;
};

}  // namespace ptrace_prof
