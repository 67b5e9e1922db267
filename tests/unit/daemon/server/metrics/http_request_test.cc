#include "daemon/server/metrics/http_request.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

std::string Page() { return "page\n"; }

TEST(HttpRequest, WaitsForItsEnd) {
  const std::string whole = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(AnswerHttp(whole.substr(0, size), Page).has_value()) << size;
  }
  EXPECT_EQ(AnswerHttp(whole, Page).value(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: 5\r\n"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\npage\n");
  EXPECT_TRUE(AnswerHttp(std::string(kMaxHttpRequest, 'x'), Page).value().starts_with("HTTP/1.1 431 "));
}

TEST(HttpRequest, ThePageIsMadeOnlyToBeSent) {
  for (const char* other :
       {"GET / HTTP/1.1\r\n\r\n", "PUT /metrics HTTP/1.1\r\n\r\n", "\r\n\r\n", "GET /metrics\r\n\r\n",
        " HTTP/1.1\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "GET /metrics HTTP/2.0\r\n\r\n"}) {
    const auto answer = AnswerHttp(other, []() -> std::string {
      ADD_FAILURE();
      return "";
    });
    EXPECT_TRUE(answer.value().starts_with("HTTP/1.1 4")) << other;
  }
}

}  // namespace
}  // namespace ptrace_prof
