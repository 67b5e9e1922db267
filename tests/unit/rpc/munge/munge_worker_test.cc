// Run against a munged of the test's own, which answers when the test lets it.
#include "rpc/munge/munge_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace ptrace_prof {
namespace {

constexpr Nanos kAtOnce = Nanos::FromMillis(1);
constexpr Nanos kForEver = Nanos::FromSeconds(1e6);

MungedCalls Quick(std::atomic<int>& asked) {
  return {.read = [&asked](const std::string& credential, const std::string&) -> Result<MungeWord> {
            ++asked;
            return MungeWord{Uid(7), credential};
          },
          .knock = [](const std::string&) -> Result<void> { return {}; }};
}

TEST(MungeWorker, HandsOnWhatMungedSays) {
  std::atomic<int> asked = 0;
  MungeWorker worker(Quick(asked), {kForEver, kForEver, kForEver});
  for (const char* credential : {"a", "b"}) {
    const auto word = worker.Read(credential, "/s");
    ASSERT_TRUE(word.has_value());
    EXPECT_EQ(word.value().payload, credential);
    EXPECT_EQ(word.value().uid, Uid(7));
  }
  EXPECT_EQ(asked, 2);
}

TEST(MungeWorker, ARefusalOfMungedsIsAnAnswerAndNoTrouble) {
  MungedCalls munged;
  munged.read = [](const std::string& credential, const std::string&) -> Result<MungeWord> {
    return credential == "good" ? Result<MungeWord>(MungeWord{Uid(7), ""})
                                : Result<MungeWord>(Error{Code::kUnauthenticated, "Replayed credential", ""});
  };
  MungeWorker worker(munged, {kForEver, kForEver, kForEver});
  EXPECT_EQ(worker.Read("bad", "/s").error().code, Code::kUnauthenticated);
  EXPECT_TRUE(worker.Read("good", "/s").has_value());
}

TEST(MungeWorker, WhereNobodyIsThatIsRememberedForAWhile) {
  std::atomic<int> asked = 0;
  const MungedCalls gone{.read = [&asked](const std::string&, const std::string& socket) -> Result<MungeWord> {
                           ++asked;
                           return Error{Code::kUnavailable, "munged does not answer at " + socket, ""};
                         },
                         .knock = {}};
  MungeWorker remembers(gone, {kForEver, kForEver, kForEver});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(remembers.Read("a", "/s").error().message, "munged does not answer at /s");
  }
  EXPECT_EQ(asked, 1);
  MungeWorker forgets(gone, {kForEver, kForEver, Nanos()});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(forgets.Read("a", "/s").has_error());
  }
  EXPECT_EQ(asked, 4);
}

// A munged that takes a question and gives no answer until it is released.
struct Silent {
  std::promise<void> let;
  std::shared_future<void> is_let = let.get_future().share();
  std::promise<void> begun;
  std::shared_future<void> has_begun = begun.get_future().share();
  std::promise<void> done;
  std::atomic<int> asked = 0;

  MungedCalls Calls(const Result<void>& at_the_door) {
    return {.read = [this](const std::string&, const std::string&) -> Result<MungeWord> {
              const bool is_first = asked++ == 0;
              if (is_first) {
                begun.set_value();
              }
              is_let.wait();
              if (is_first) {
                done.set_value();
              }
              return MungeWord{Uid(7), ""};
            },
            .knock =
                [this, at_the_door](const std::string&) {
                  has_begun.wait();
                  return at_the_door;
                }};
  }
};

TEST(MungeWorker, NobodyAtTheDoorIsSaidWithoutWaitingForTheRest) {
  Silent munged;
  {
    MungeWorker worker(munged.Calls(Error{Code::kUnavailable, "nobody", ""}), {kAtOnce, kForEver, kForEver});
    EXPECT_EQ(worker.Read("a", "/s").error().message, "nobody");
    munged.let.set_value();
  }
  EXPECT_EQ(munged.asked, 1);
}

TEST(MungeWorker, AnswersNobodyWhileMungedHangsAndEverybodyAfterwards) {
  Silent munged;
  MungeWorker worker(munged.Calls({}), {kAtOnce, kAtOnce, Nanos()});
  for (int i = 0; i < 3; ++i) {
    const auto word = worker.Read("a", "/s");
    ASSERT_TRUE(word.has_error());
    EXPECT_EQ(word.error().code, Code::kUnavailable);
    EXPECT_NE(word.error().message.find("sends nothing"), std::string::npos) << word.error().message;
  }
  EXPECT_EQ(munged.asked, 1) << "who comes later does not stand in line behind it";
  munged.let.set_value();
  munged.done.get_future().wait();
  while (worker.Read("a", "/s").has_error()) {  // until its thread has stored the late answer
  }
}

TEST(MungeWorker, ItsEndDoesNotWaitForAMungedThatHangs) {
  static Silent munged;  // its thread lives on for a moment
  {
    MungeWorker worker(munged.Calls({}), {kAtOnce, kAtOnce, Nanos()});
    EXPECT_TRUE(worker.Read("a", "/s").has_error());
  }
  munged.let.set_value();
  munged.done.get_future().wait();
}

}  // namespace
}  // namespace ptrace_prof
