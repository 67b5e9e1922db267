// Answers Prometheus scrapers on a listening socket: one page, one request per connection.
//
// Has a thread of its own. It holds few connections, each for a few seconds at most; more wait in the socket's queue.
// The destructor closes all of them. prometheus-cpp's own server is not used: Debian has it only as a shared object,
// with a web server that binds by itself (we bind while we are privileged, also to a Unix socket) and whose parser
// every local user could reach.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class ScrapeServer {
 public:
  // `page` is called on the server's thread.
  static Result<std::unique_ptr<ScrapeServer>> Start(UniqueFd listening, std::function<std::string()> page);
  ~ScrapeServer();

 private:
  ScrapeServer(UniqueFd listening, UniqueFd wake, std::function<std::string()> page)
      : listening_(std::move(listening)), wake_(std::move(wake)), page_(std::move(page)) {}
  void Run();

  const UniqueFd listening_;
  const UniqueFd wake_;
  const std::function<std::string()> page_;
  std::thread thread_;
};

}  // namespace ptrace_prof
