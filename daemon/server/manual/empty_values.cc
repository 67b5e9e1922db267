#include "daemon/server/manual/empty_values.h"

#include <CLI/CLI.hpp>
#include <string>

namespace ptrace_prof {

void RefuseEmptyValues(CLI::App& app) {
  const CLI::Validator filled([](const std::string& value) { return value.empty() ? "its value is empty" : ""; }, "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() > 0) {
      option->check(filled);
    }
  }
  for (CLI::App* command : app.get_subcommands({})) {
    RefuseEmptyValues(*command);
  }
}

}  // namespace ptrace_prof
