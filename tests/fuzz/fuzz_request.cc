// Decodes arbitrary arguments as a CaptureRequest: whatever is accepted is in range and comes back from its encoding.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/trace/capture_request.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

void Run(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const auto decoded = DecodeRequest(arguments);
  if (decoded.has_error()) {
    Require(decoded.error().code == Code::kInvalidArgument && decoded.error().message.size() < 512);
    return;
  }
  const CaptureRequest& request = decoded.value();
  Require(request.pid.value >= 0 && request.duration.value >= 0);
  Require(request.rate_hz >= 0 && request.rate_hz <= kMaxRateHz && request.max_overhead >= 0);
  const std::vector<std::string> encoded = EncodeRequest(request);
  const auto again = DecodeRequest(encoded);
  Require(again.has_value() && EncodeRequest(again.value()) == encoded);
}

}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
