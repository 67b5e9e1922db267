// Feeds DecodeRecord any bytes. What it accepts is written and read again, and must be the same then.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/server/captures/capture_record.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  const auto read = DecodeRecord({reinterpret_cast<const char*>(data), size});
  if (read.has_error()) {
    return 0;
  }
  const std::string written = EncodeRecord(read.value());
  const auto again = DecodeRecord(written);
  Require(again.has_value());
  Require(EncodeRecord(again.value()) == written);
  return 0;
}
