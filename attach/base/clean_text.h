// Makes text out of bytes that a target or a trace chose: valid UTF-8 in which every character is visible.
//
// Names come from processes that may be hostile, so terminal escapes, line breaks, changes of the writing direction,
// invisible characters and broken UTF-8 are escaped as in Python's repr(): a control character or an invalid byte as
// \x1b, any other as \u202e or \U000e0041. A second call leaves the text unchanged. Every exporter, every message
// and every line for a terminal passes foreign text through this. Stateless.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

std::string CleanText(std::string_view bytes);
// The first `limit` characters of clean text, with ".." where some are missing.
std::string Shortened(const std::string& text, size_t limit);

}  // namespace ptrace_prof
