// Makes text out of bytes that a target or a trace chose: valid UTF-8 without control characters.
//
// Names come from processes that may be hostile: no terminal escape, line break or broken UTF-8 gets past here.
// Each offending byte becomes U+FFFD. Every exporter and every message passes names through this before anything else.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

std::string CleanText(std::string_view bytes);
// The first `limit` characters of clean text, with ".." where some are missing.
std::string Shortened(const std::string& text, size_t limit);

}  // namespace ptrace_prof
