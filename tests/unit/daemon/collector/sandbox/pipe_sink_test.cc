#include "daemon/collector/sandbox/pipe_sink.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <vector>

namespace ptrace_prof {
namespace {

TEST(PipeSink, WritesMoreThanThePipeHolds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::vector<std::byte> sent(3 << 20, std::byte{7});
  size_t received = 0;
  std::thread reader([&] {
    std::array<char, 65536> buffer{};
    ssize_t got = 0;
    while ((got = ::read(ends[0], buffer.data(), buffer.size())) > 0) {
      received += static_cast<size_t>(got);
    }
  });
  {
    PipeSink sink{UniqueFd(ends[1])};
    EXPECT_FALSE(sink.Write(sent).has_error());
  }
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(received, sent.size());
}

TEST(PipeSink, SurvivesSignals) {
  struct sigaction interrupting {};
  struct sigaction before {};
  interrupting.sa_handler = [](int) {};  // without SA_RESTART: write(2) ends with EINTR, or early
  ASSERT_EQ(::sigaction(SIGUSR1, &interrupting, &before), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<std::byte> sent(3 << 20);
  for (size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<std::byte>(i % 251);
  }
  const pthread_t writer = ::pthread_self();
  std::vector<std::byte> received;
  std::thread reader([&] {
    // The writer waits for us, so each signal arrives during a write or just before one.
    std::array<std::byte, 4096> buffer{};
    ssize_t got = 0;
    do {
      ::pthread_kill(writer, SIGUSR1);
      got = ::read(ends[0], buffer.data(), buffer.size());
      received.insert(received.end(), buffer.begin(), buffer.begin() + std::max<ssize_t>(got, 0));
    } while (got > 0 || (got < 0 && errno == EINTR));
  });
  {
    PipeSink sink{UniqueFd(ends[1])};
    EXPECT_FALSE(sink.Write(sent).has_error());
  }
  reader.join();
  ::close(ends[0]);
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(received == sent, true) << received.size() << " bytes arrived";
}

TEST(PipeSink, SaysForGoodThatNobodyReads) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  PipeSink sink{UniqueFd(ends[1])};
  const std::vector<std::byte> bytes(10);
  for (int i = 0; i < 2; ++i) {
    const auto written = sink.Write(bytes);
    ASSERT_TRUE(written.has_error());
    EXPECT_EQ(written.error().code, Code::kCancelled);
  }
}

}  // namespace
}  // namespace ptrace_prof
