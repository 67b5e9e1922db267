// Makes text out of bytes that a target or a trace chose: valid UTF-8 in which every character can be seen.
//
// Names come from processes that may be hostile: no terminal escape, line break, change of the writing direction,
// invisible character or broken UTF-8 gets past here. Each is written out as Python's repr() does: a control character
// or an offending byte as \x1b, any other as \u202e or \U000e0041. What comes out is left as it is by a second call.
// Every exporter, every message and every line for a terminal passes foreign text through this. Stateless.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

std::string CleanText(std::string_view bytes);
// The first `limit` characters of clean text, with ".." where some are missing.
std::string Shortened(const std::string& text, size_t limit);

}  // namespace ptrace_prof
