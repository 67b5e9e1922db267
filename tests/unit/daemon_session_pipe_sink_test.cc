#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "daemon/session/pipe_sink.h"

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
