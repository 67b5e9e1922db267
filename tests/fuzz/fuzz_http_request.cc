// Feeds any bytes to the code that answers scrapers: one answer, with a known status and its true length, or none until
// 8 KiB have come.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "daemon/server/metrics/http_request.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kPage = "page\n";

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void Run(std::string_view received) {
  bool was_asked = false;
  const auto answer = AnswerHttp(received, [&] {
    was_asked = true;
    return std::string(kPage);
  });
  if (!answer.has_value()) {
    Require(received.size() < kMaxHttpRequest && received.find("\r\n\r\n") == std::string_view::npos && !was_asked);
    return;
  }
  const size_t head = answer->find("\r\n\r\n");
  Require(answer->starts_with("HTTP/1.1 ") && head != std::string::npos);
  Require(answer->starts_with("HTTP/1.1 200 OK\r\n") == was_asked);
  const std::string_view body = std::string_view(*answer).substr(head + 4);
  const size_t length = answer->find("Content-Length: ");
  Require(length < head);
  const auto reported = std::strtoull(answer->c_str() + length + 16, nullptr, 10);
  Require(reported == body.size() || (body.empty() && received.starts_with("HEAD ")));
  Require(answer->size() < 512);  // nothing of the request is echoed
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
