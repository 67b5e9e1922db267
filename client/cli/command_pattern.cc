#include "client/cli/command_pattern.h"

#include <fmt/format.h>

#include <array>

namespace ptrace_prof {

void CommandPattern::Release::operator()(regex_t* compiled) const {
  ::regfree(compiled);
  delete compiled;
}

Result<CommandPattern> CommandPattern::Compile(const std::string& text) {
  CommandPattern pattern;
  if (text.empty()) {
    return pattern;
  }
  auto compiled = std::make_unique<regex_t>();
  if (const int error = ::regcomp(compiled.get(), text.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
    std::array<char, 256> words{};
    ::regerror(error, compiled.get(), words.data(), words.size());
    return Error{
        Code::kInvalidArgument, fmt::format("'{}' is not a pattern: {}", text, words.data()),
        "give an extended regular expression, as in grep -E; put a backslash before . * + ? ( ) [ { | ^ $ to mean "
        "the character"};
  }
  pattern.compiled_.reset(compiled.release());
  return pattern;
}

bool CommandPattern::Matches(const std::string& command) const {
  return compiled_ == nullptr || ::regexec(compiled_.get(), command.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace ptrace_prof
