// A manual page (roff, man(7)) out of the same declarations that --help prints: nothing is written twice. Pure
// function.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace ptrace_prof {

struct ManualInfo {
  int section = 1;
  std::string_view version;
  std::vector<std::string> synopsis;                                 // a line each, without the name of the program
  std::vector<std::pair<std::string_view, std::string_view>> files;  // and what each is
  std::string_view see_also;                                         // "ptrace-profd(8), ptrace(2)"
};

std::string ManualPage(const CLI::App& app, const ManualInfo& info);

}  // namespace ptrace_prof
