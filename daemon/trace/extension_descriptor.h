// The serialised FileDescriptorSet of extension.proto, by which Perfetto's tools decode our extension.
#pragma once

#include <string_view>

namespace ptrace_prof {

std::string_view ExtensionDescriptorSet();

}  // namespace ptrace_prof
