#include "daemon/trace/extension_descriptor.h"

namespace ptrace_prof {
namespace {

constexpr unsigned char kBytes[] = {
#include "daemon/trace/extension_descriptor.inc"
};

}  // namespace

std::string_view ExtensionDescriptorSet() { return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)}; }

}  // namespace ptrace_prof
