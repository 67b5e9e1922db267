#include "daemon/server/metrics/scrape_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "attach/base/started_thread.h"
#include "attach/base/types.h"
#include "daemon/server/metrics/http_request.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostConnections = 16;
constexpr Nanos kPatience = Nanos::FromSeconds(5);
constexpr int kLookEveryMs = 250;  // to check deadlines
constexpr int kPauseMs = 100;      // after a failed accept, for example without free descriptors

struct Scraper {
  UniqueFd socket;
  Nanos deadline;
  std::string received = {};
  std::string answer = {};  // the unsent part
  bool is_answered = false;
};

// Returns whether the connection is still needed.
bool Read(Scraper& scraper, const std::function<std::string()>& page) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::recv(scraper.socket.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
  if (scraper.is_answered) {
    return true;  // discarded, so that closing does not lose the answer
  }
  scraper.received.append(buffer.data(), static_cast<size_t>(got));
  if (auto answer = AnswerHttp(scraper.received, page); answer.has_value()) {
    scraper.answer = std::move(*answer);
    scraper.is_answered = true;
  }
  return true;
}

bool Write(Scraper& scraper) {
  const ssize_t put = ::send(scraper.socket.get(), scraper.answer.data(), scraper.answer.size(), MSG_NOSIGNAL);
  if (put < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  scraper.answer.erase(0, static_cast<size_t>(put));
  if (scraper.answer.empty()) {
    ::shutdown(scraper.socket.get(), SHUT_WR);
  }
  return true;
}

bool Serve(Scraper& scraper, short ready, const std::function<std::string()>& page) {
  if (MonotonicNow() > scraper.deadline) {
    return false;
  }
  if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0 && !Read(scraper, page)) {
    return false;
  }
  return scraper.answer.empty() || Write(scraper);
}

// Chooses the connection that a new one replaces: preferably one that has sent no request, since a scraper sends it at
// once.
std::vector<Scraper>::iterator Oldest(std::vector<Scraper>& scrapers) {
  const auto silent = std::ranges::find(scrapers, false, &Scraper::is_answered);
  return silent != scrapers.end() ? silent : scrapers.begin();
}

}  // namespace

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(UniqueFd listening, std::function<std::string()> page) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open() || ::fcntl(listening.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoError(errno, "cannot wait for scrapers");
  }
  std::unique_ptr<ScrapeServer> server(new ScrapeServer(std::move(listening), std::move(wake), std::move(page)));
  PP_ASSIGN_OR_RETURN(server->thread_, StartThread([raw = server.get()] { raw->Run(); }));
  return server;
}

ScrapeServer::~ScrapeServer() {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void ScrapeServer::Run() {
  std::vector<Scraper> scrapers;
  for (;;) {
    std::vector<pollfd> watched = {{wake_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    for (const Scraper& scraper : scrapers) {
      watched.push_back({scraper.socket.get(), static_cast<short>(scraper.answer.empty() ? POLLIN : POLLOUT), 0});
    }
    ::poll(watched.data(), watched.size(), scrapers.empty() ? -1 : kLookEveryMs);
    if (watched[0].revents != 0) {
      return;
    }
    size_t at = 2;
    std::erase_if(scrapers, [&](Scraper& scraper) { return !Serve(scraper, watched[at++].revents, page_); });
    if (watched[1].revents != 0) {
      UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.is_open()) {
        if (scrapers.size() == kMostConnections) {
          scrapers.erase(Oldest(scrapers));
        }
        scrapers.push_back({std::move(socket), MonotonicNow() + kPatience});
      } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        ::poll(nullptr, 0, kPauseMs);
      }
    }
  }
}

}  // namespace ptrace_prof
