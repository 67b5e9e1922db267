// Answers scrapers of Prometheus on a socket that listens already: one page, one request a connection, nothing else.
//
// A thread of its own. It holds few connections, each for a few seconds at most; who comes meanwhile waits in the
// socket's queue. The destructor closes all of them. Why not prometheus-cpp's own server: Debian has that as a shared
// object only, with a web server in it that binds by itself (we bind while we have rights, also to a Unix socket) and
// whose parser would be reachable for every local user.
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
