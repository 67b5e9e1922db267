#include "rpc/messages/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kLongestKey = 128;
constexpr size_t kLongestValue = 2048;

// The members of Kineto's JSON, and of ours.
constexpr std::string_view kTaken[] = {"schemaVersion",       "deviceProperties", "distributedInfo", "displayTimeUnit",
                                       "baseTimeNanoseconds", "traceEvents",      "traceName",       "otherData",
                                       "with_stack",          "with_modules",     "with_flops",      "profile_memory",
                                       "record_shapes"};

Error NoMetadata(std::string message, std::string remedy) {
  return Error{Code::kInvalidArgument, std::move(message), std::move(remedy)};
}

}  // namespace

Result<std::pair<std::string, std::string>> ParseMetadata(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  if (equals == std::string_view::npos || key.empty()) {
    return NoMetadata(fmt::format("'{}' is not KEY=VALUE", CleanText(text.substr(0, kLongestKey))),
                      "write a key, = and a value, such as run=baseline");
  }
  const std::string_view value = text.substr(equals + 1);
  if (key.size() > kLongestKey || value.size() > kLongestValue) {
    return NoMetadata(fmt::format("the key or the value of {} is too long", CleanText(key.substr(0, kLongestKey))),
                      fmt::format("at most {} and {} bytes are allowed", kLongestKey, kLongestValue));
  }
  if (CleanText(text) != text) {
    return NoMetadata(fmt::format("'{}' has characters that cannot be shown", CleanText(text)),
                      "give printable UTF-8 on one line");
  }
  if (std::ranges::find(kTaken, key) != std::end(kTaken)) {
    return NoMetadata(fmt::format("{} is a member that exports write themselves", key), "choose another key");
  }
  return std::pair(std::string(key), std::string(value));
}

void AddMetadata(const v1::CaptureSpec& spec, std::map<std::string, std::string>& metadata) {
  for (const std::string& text : spec.metadata()) {
    auto entry = ParseMetadata(text);
    if (entry.has_value() && metadata.size() < kMostMetadata) {
      metadata.insert(std::move(entry).value());
    }
  }
}

}  // namespace ptrace_prof
