// Jobs that take long, and which of them gets the next turn.
#include "daemon/server/captures/start_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "tests/unit/in_child.h"
#include "tests/unit/no_thread.h"

namespace ptrace_prof {
namespace {

// A pool of one thread that is busy until Release().
class BusyPool : public testing::Test {
 protected:
  BusyPool() {
    std::promise<void> began;
    const auto busy = [this, &began] {
      began.set_value();
      released_.get_future().wait();
    };
    std::atomic<StartPool::Ticket> ticket = 0;
    EXPECT_TRUE(pool_.Add(1, busy, ticket).has_value());
    began.get_future().wait();
  }
  StartPool::Ticket Note(uint32_t user, int what) {
    const auto note = [this, what] {
      const std::lock_guard lock(mutex_);
      done_.push_back(what);
      changed_.notify_all();
    };
    std::atomic<StartPool::Ticket> ticket = 0;
    EXPECT_TRUE(pool_.Add(user, note, ticket).has_value());
    return ticket;
  }
  std::vector<int> Release(size_t jobs) {
    released_.set_value();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_.size() == jobs; });
    return done_;
  }

  std::promise<void> released_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> done_;
  StartPool pool_{1};
};

TEST_F(BusyPool, UsersTakeTurns) {
  Note(1, 10);
  Note(1, 11);
  Note(1, 12);
  Note(2, 20);
  Note(3, 30);
  Note(2, 21);
  EXPECT_EQ(Release(6), (std::vector<int>{20, 30, 10, 21, 11, 12}));
}

TEST_F(BusyPool, WhatHasNotBegunCanBeWithdrawn) {
  const StartPool::Ticket first = Note(2, 20);
  Note(2, 21);
  const StartPool::Ticket last = Note(3, 30);
  EXPECT_TRUE(pool_.Withdraw(2, first));
  EXPECT_FALSE(pool_.Withdraw(2, first));
  EXPECT_TRUE(pool_.Withdraw(3, last));
  EXPECT_EQ(Release(1), (std::vector<int>{21}));
}

TEST(StartPool, HasAThreadForEachJobThatWaitsUntilThereAreEnough) {
  std::promise<void> all;
  std::mutex mutex;
  int begun = 0;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  StartPool pool(3);  // constructed last, because its threads use the objects above until they have ended
  const auto job = [&] {
    {
      const std::lock_guard lock(mutex);
      if (++begun == 3) {
        all.set_value();
      }
    }
    released.wait();
  };
  std::atomic<StartPool::Ticket> ticket = 0;
  for (uint32_t user = 0; user < 3; ++user) {
    EXPECT_TRUE(pool.Add(user, job, ticket).has_value());
  }
  all.get_future().wait();
  release.set_value();
}

TEST(StartPool, WithNoThreadToBeHadAJobIsRefusedAndNeverBegins) {
  EXPECT_EQ(InChild([] {
              StartPool pool(2);
              bool has_run = false;
              std::atomic<StartPool::Ticket> ticket = 0;
              if (!AllowNoThread()) {
                return 2;
              }
              const auto added = pool.Add(
                  1, [&] { has_run = true; }, ticket);
              return added.has_error() && added.error().reason == Reason::kOutOfResources && !has_run ? 0 : 1;
            }),
            0);
}

TEST(StartPool, WithOneThreadToBeHadItDoesTheJobsOfAll) {
  EXPECT_EQ(InChild([] {
              std::atomic<int> done = 0;
              {
                StartPool pool(2);
                std::atomic<StartPool::Ticket> ticket = 0;
                std::promise<void> began;
                (void)pool.Add(
                    1, [&] { began.set_value(); }, ticket);
                began.get_future().wait();
                if (!AllowNoThread()) {
                  return 2;
                }
                for (uint32_t user = 1; user < 9; ++user) {
                  (void)pool.Add(
                      user, [&] { ++done; }, ticket);
                }
              }
              return done == 8 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace ptrace_prof
