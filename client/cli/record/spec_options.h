// The options of a capture on the command line: declares and reads every row of the table of options
// (rpc/messages/option_table.h) that has a flag, so that they mean the same in every command.
//
// Owned by the command; must outlive the parse. Single-threaded.
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

  // Sets an option for another option of the command, as if `text` had been written after the flag of that row.
  void Say(std::string_view path, std::string text);
  // Whether an option of that message or field was given: "trace.schedule".
  bool Says(std::string_view path) const;

  // Call after the parse. Returns the checked options, with defaults filled in, without a target.
  Result<v1::CaptureSpec> Read() const;

 private:
  struct Declared {
    const OptionRow* row = nullptr;
    const CLI::Option* option = nullptr;        // null: set by Say
    const CLI::Option* short_option = nullptr;  // the flag for one fixed value
    std::string text;
    std::vector<std::string> texts;  // of a repeatable option
    bool is_on = false;              // of a flag without a value, or of its opposite
    bool is_opposite_on = false;
  };

  void DeclareRow(CLI::App& app, Declared& one);
  static bool IsGiven(const Declared& one);
  Result<void> CheckParts() const;

  std::list<Declared> declared_;  // CLI11 writes to these members: a list keeps their addresses
};

}  // namespace ptrace_prof
