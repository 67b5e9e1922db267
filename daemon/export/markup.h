// Text in HTML, SVG and CSV.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

inline std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '&': escaped += "&amp;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

// In quotes where a reader would need them.
inline std::string CsvText(std::string text) {
  if (text.find_first_of(",\"\n") == std::string::npos) {
    return text;
  }
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return "\"" + text + "\"";
}

}  // namespace ptrace_prof
