// Lays out the screen of `top`: lines of text with a style, for a screen of a given size. Pure; independent of the
// terminal.
#pragma once

#include <string>
#include <vector>

#include "client/cli/top/top_session.h"

namespace ptrace_prof {

enum class TopStyle : uint8_t { kPlain, kTitle, kHeading, kSelected, kHot, kWarm, kFaint, kKeys, kNotice };

struct TopLine {
  std::string text;  // printable; may be longer than the screen is wide
  TopStyle style = TopStyle::kPlain;
};

struct ScreenSize {
  int rows = 24;
  int columns = 80;
};

// How many table rows or source lines fit.
int BodyRows(ScreenSize size);
// At most size.rows lines, top to bottom.
std::vector<TopLine> DrawTop(const TopSession& session, ScreenSize size);

}  // namespace ptrace_prof
