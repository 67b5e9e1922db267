#include "daemon/trace/left_out.h"

#include <fmt/format.h>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kFunctionsNamed = 10;  // of the functions that were switched off

std::string Grouped(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

std::string Things(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", Grouped(count), thing, count == 1 ? "" : "s");
}

std::string LeftOutBy(std::string_view option, const LeftOut& left_out) {
  return fmt::format("{} left out {} ({}{})", option, Things(left_out.functions, "function"),
                     Things(left_out.calls, "call"), left_out.switched_off ? "; later calls were not counted" : "");
}

}  // namespace

std::string Sentence(const LeftOut& left_out) {
  const std::string what = CleanText(left_out.what);
  switch (left_out.cause) {
    case LeftOutCause::kFilter:
      return left_out.functions > 0 ? "" : fmt::format("--filter '{}' matched none of the called functions", what);
    case LeftOutCause::kNotFiltered: return left_out.functions > 0 ? LeftOutBy("--filter", left_out) : "";
    case LeftOutCause::kExcluded:
      return left_out.functions > 0 ? LeftOutBy(fmt::format("--exclude '{}'", what), left_out)
                                    : fmt::format("--exclude '{}' matched none of the called functions", what);
    case LeftOutCause::kOverhead:
      return fmt::format("--max-overhead switched off {} after {}", what, Things(left_out.calls, "call"));
  }
  return "";
}

std::vector<std::string> Sentences(const std::vector<LeftOut>& all) {
  std::vector<std::string> sentences;
  size_t named = 0;
  for (const LeftOut& left_out : all) {
    if (left_out.cause == LeftOutCause::kOverhead && ++named > kFunctionsNamed) {
      continue;
    }
    if (std::string sentence = Sentence(left_out); !sentence.empty()) {
      sentences.push_back(std::move(sentence));
    }
  }
  if (named > kFunctionsNamed) {
    sentences.push_back(fmt::format("--max-overhead switched off {} more; the trace lists them",
                                    Things(named - kFunctionsNamed, "function")));
  }
  return sentences;
}

}  // namespace ptrace_prof
