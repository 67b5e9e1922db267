// The one question that a scraper asks, and what is answered to it and to all others. Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

inline constexpr size_t kMaxHttpRequest = 8 * 1024;

// The whole answer, after which the connection is closed; nothing: the request is not complete yet.
// `page` is asked for only where it is to be sent.
std::optional<std::string> AnswerHttp(std::string_view received, const std::function<std::string()>& page);

}  // namespace ptrace_prof
