#include "rpc/messages/name_glob.h"

#include <fmt/format.h>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kMostShown = 64;  // characters of a pattern that a message quotes

Error Bad(std::string_view text, std::string_view why) {
  return {
      Code::kInvalidArgument,
      fmt::format("'{}' is not a valid pattern: {}", Shortened(CleanText(text.substr(0, kMaxGlobBytes)), kMostShown),
                  why),
      "* matches any text, ? one character, [a-z] one of these; \\ before a character matches that character itself"};
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }
bool IsNegation(char byte) { return byte == '!' || byte == '^'; }

// The position of the ']' that ends the set beginning at `open`. A ']' right after the '[' is a member of the set.
size_t EndOfSet(std::string_view pattern, size_t open) {
  size_t first = open + 1;
  if (first < pattern.size() && IsNegation(pattern[first])) {
    ++first;
  }
  return pattern.find(']', first + 1);
}

bool IsInSet(std::string_view members, char wanted) {
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  for (size_t i = 0; i < members.size(); ++i) {
    if (i + 2 < members.size() && members[i + 1] == '-') {
      if (byte(members[i]) <= byte(wanted) && byte(wanted) <= byte(members[i + 2])) {
        return true;
      }
      i += 2;
    } else if (members[i] == wanted) {
      return true;
    }
  }
  return false;
}

// Advances over one character of the name, if the pattern allows it.
bool Step(std::string_view pattern, size_t& at, std::string_view name, size_t& here) {
  const size_t from = here;
  bool matches = false;
  size_t next = at + 1;
  size_t end_of_character = from + 1;
  switch (pattern[at]) {
    case '?': matches = true; break;
    case '[': {
      const size_t end = EndOfSet(pattern, at);
      const bool negated = IsNegation(pattern[at + 1]);
      const size_t first = at + (negated ? 2 : 1);
      matches = IsInSet(pattern.substr(first, end - first), name[from]) != negated;
      next = end + 1;
      break;
    }
    case '\\':
      matches = pattern[at + 1] == name[from];
      next = at + 2;
      break;
    default: matches = pattern[at] == name[from];
  }
  if (!matches) {
    return false;
  }
  if (pattern[at] == '?' || pattern[at] == '[') {
    while (end_of_character < name.size() && IsContinuation(name[end_of_character])) {
      ++end_of_character;
    }
  }
  at = next;
  here = end_of_character;
  return true;
}

}  // namespace

Result<NameGlob> NameGlob::Compile(std::string_view text) {
  if (text.empty()) {
    return Bad(text, "it is empty");
  }
  if (text.size() > kMaxGlobBytes) {
    return Bad(text, fmt::format("it is longer than {} bytes", kMaxGlobBytes));
  }
  if (CleanText(text) != text) {
    return Bad(text, "it contains a control character or malformed text");
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && ++i == text.size()) {
      return Bad(text, "nothing follows the \\ at its end");
    }
    if (text[i] == '[') {
      i = EndOfSet(text, i);
      if (i == kNone) {
        return Bad(text, "a [ has no ]");
      }
    }
  }
  return NameGlob(text);
}

bool NameGlob::Matches(std::string_view name) const {
  const std::string_view pattern = text_;
  size_t at = 0;
  size_t here = 0;
  size_t star = kNone;  // the last '*'; on a mismatch, what follows it is tried again one character later
  size_t tried = 0;
  while (here < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      tried = here;
    } else if (at >= pattern.size() || !Step(pattern, at, name, here)) {
      if (star == kNone) {
        return false;
      }
      at = star + 1;
      here = ++tried;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') {
    ++at;
  }
  return at == pattern.size();
}

}  // namespace ptrace_prof
