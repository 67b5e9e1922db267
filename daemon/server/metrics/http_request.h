// Parses the one request that a scraper sends, and answers it; answers any other request with an error. Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

inline constexpr size_t kMaxHttpRequest = 8 * 1024;

// Returns the whole answer, after which the connection is closed; nothing if the request is not complete yet. `page` is
// called only if it is sent.
std::optional<std::string> AnswerHttp(std::string_view received, const std::function<std::string()>& page);

}  // namespace ptrace_prof
