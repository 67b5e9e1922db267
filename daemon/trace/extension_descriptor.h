// The FileDescriptorSet of extension.proto, serialised: what lets Perfetto's tools spell out our extension.
#pragma once

#include <string_view>

namespace ptrace_prof {

std::string_view ExtensionDescriptorSet();

}  // namespace ptrace_prof
