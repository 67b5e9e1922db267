// The layout of --help: CLI11's, with our own usage lines (from the table of commands) and footers left as written.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace ptrace_prof {

std::shared_ptr<CLI::FormatterBase> MakeHelpFormat();

}  // namespace ptrace_prof
