// Generates a manual page (roff, man(7)) from the declarations that --help prints, so that the text exists once. Pure
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
  std::vector<std::string> synopsis;                                 // a line each, without the program's name
  std::vector<std::pair<std::string_view, std::string_view>> files;  // path and description
  std::string_view see_also;                                         // "ptrace-profd(8), ptrace(2)"
};

std::string ManualPage(const CLI::App& app, const ManualInfo& info);

}  // namespace ptrace_prof
