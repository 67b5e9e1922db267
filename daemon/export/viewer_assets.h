// The parts of the HTML page, embedded at build time from viewer/ (see embed.cmake).
#pragma once

#include <string_view>

namespace ptrace_prof {

extern const std::string_view kViewerPage;      // the body's markup
extern const std::string_view kViewerStyle;     // CSS
extern const std::string_view kViewerScript;    // d3-flame-graph and our scripts
extern const std::string_view kViewerLicenses;  // of the third-party parts
extern const std::string_view kFlameScript;     // inside SVG flame graphs

}  // namespace ptrace_prof
