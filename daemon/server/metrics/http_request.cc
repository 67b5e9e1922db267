#include "daemon/server/metrics/http_request.h"

#include <fmt/format.h>

namespace ptrace_prof {
namespace {

std::string Answer(std::string_view status, std::string_view type, std::string_view body, std::string_view more = "") {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}X-Content-Type-Options: nosniff\r\n"
      "Connection: close\r\n\r\n{}",
      status, type, body.size(), more, body);
}

std::string Plain(std::string_view status, std::string_view body, std::string_view more = "") {
  return Answer(status, "text/plain; charset=utf-8", body, more);
}

}  // namespace

std::optional<std::string> AnswerHttp(std::string_view received, const std::function<std::string()>& page) {
  const size_t end = received.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    return received.size() < kMaxHttpRequest
               ? std::nullopt
               : std::optional(Plain("431 Request Header Fields Too Large", "the request is too long\n"));
  }
  const std::string_view line = received.substr(0, received.find("\r\n"));
  const size_t first = line.find(' ');
  const size_t second = line.rfind(' ');
  if (first == std::string_view::npos || second <= first || !line.substr(second + 1).starts_with("HTTP/1.")) {
    return Plain("400 Bad Request", "this is not an HTTP/1 request\n");
  }
  const std::string_view method = line.substr(0, first);
  std::string_view path = line.substr(first + 1, second - first - 1);
  path = path.substr(0, path.find('?'));
  if (method != "GET" && method != "HEAD") {
    return Plain("405 Method Not Allowed", "only GET and HEAD are allowed\n", "Allow: GET, HEAD\r\n");
  }
  if (path != "/metrics") {
    return Plain("404 Not Found", "only /metrics is served\n");
  }
  std::string answer = Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", page());
  if (method == "HEAD") {
    answer.resize(answer.find("\r\n\r\n") + 4);
  }
  return answer;
}

}  // namespace ptrace_prof
