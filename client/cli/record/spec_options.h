// The options of a capture on the command line: every row of the table of options (rpc/messages/option_table.h) that
// has a flag, declared and read here, so that they mean the same in every command.
//
// Owned by the command; outlives the parse. Single-threaded.
#pragma once

#include <list>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/option_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ptrace_prof {

class SpecOptions {
 public:
  void Declare(CLI::App& app, bool (*is_wanted)(const OptionRow&));

  // For what another option of the command says, too: as if it had been written after the flag of that row.
  void Say(std::string_view path, std::string text);
  // Whether something is written of that message, or of that field: "trace.schedule".
  bool Says(std::string_view path) const;

  // After the parse: what was written, checked, with the defaults of what was not. Without a target.
  Result<v1::CaptureSpec> Read() const;

 private:
  struct Declared {
    const OptionRow* row = nullptr;
    const CLI::Option* option = nullptr;        // null: see Say
    const CLI::Option* short_option = nullptr;  // the flag that stands for one value
    std::string text;
    std::vector<std::string> texts;  // of one that may be repeated
    bool is_on = false;              // of one without a value, as the opposite of it
    bool is_opposite_on = false;
  };

  void DeclareRow(CLI::App& app, Declared& one);
  static bool IsGiven(const Declared& one);
  Result<void> CheckParts() const;

  std::list<Declared> declared_;  // where CLI11 writes to: the addresses stay
};

}  // namespace ptrace_prof
