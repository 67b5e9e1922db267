// Names of code that is freed, and whose address is reused, while events about both code objects wait in rings.
#include "daemon/collector/calls/call_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace ptrace_prof {
namespace {

constexpr RemoteAddr kPlace{0x1000};
constexpr const char* kGone = "[code that is gone]";

// What is at each address now; null: nothing readable.
class Memory : public CalledObjects {
 public:
  std::optional<Frame> Code(RemoteAddr code) override {
    if (before_reading) {
      before_reading();
    }
    if (!known.contains(code)) {
      known[code] = tenants[code];
      ++reads;
    }
    if (known[code].empty()) {
      return std::nullopt;
    }
    Frame frame;
    frame.function = known[code];
    return frame;
  }
  std::optional<Frame> Module(RemoteAddr code, RemoteAddr) override {
    Frame frame;
    frame.function = "module of " + tenants[code];
    return frame;
  }
  std::optional<Frame> Callable(RemoteAddr, RemoteAddr) override { return std::nullopt; }
  void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) override {
    ++comparisons;
    for (const RemoteAddr code : codes) {
      if (known[code] != tenants[code]) {
        known.erase(code);
        changed->push_back(code);
      }
    }
  }
  void Forget(RemoteAddr code) override { known.erase(code); }
  void ForgetAll() override { known.clear(); }
  std::optional<Frame> Freed(const FreedCode& freed) override {
    ++asked;
    Frame frame;
    frame.function = freed.name;
    return freed.name.empty() ? std::nullopt : std::optional(frame);
  }

  std::map<RemoteAddr, std::string> tenants, known;
  std::function<void()> before_reading;
  int reads = 0, comparisons = 0, asked = 0;
};

class CallNamesTest : public testing::Test {
 protected:
  CallNamesTest() { head_.watches_code = 1; }

  void Watch() { names_.WatchFreed(reader_); }
  void Free(RemoteAddr code, uint64_t when, const std::string& next, const std::string& reported = "") {
    pp_freed& entry = table_[head_.freed++ % PP_FREED_ENTRIES];
    entry = {.when = when, .code = code.value};
    entry.name_length = static_cast<uint16_t>(reported.size());
    std::memcpy(entry.name, reported.data() + reported.size() - std::min(reported.size(), sizeof entry.name),
                std::min(reported.size(), sizeof entry.name));
    memory_.tenants[code] = next;
  }
  std::string At(uint64_t when, RemoteAddr code = kPlace) {
    return stacks_.frame(names_.OfCode(code, when).function).function;
  }

  pp_channel head_{};
  std::array<pp_freed, PP_FREED_ENTRIES> table_{};
  FreedCodeReader reader_{&head_, table_.data()};
  StackTable stacks_;
  Memory memory_;
  CallNames names_{stacks_, memory_};
};

TEST_F(CallNamesTest, ANameHoldsUntilItsCodeIsFreed) {
  Watch();
  memory_.tenants[kPlace] = "first";
  EXPECT_EQ(At(10), "first");
  Free(kPlace, 20, "second");
  names_.Revalidate();
  EXPECT_EQ(At(30), "second");
  EXPECT_EQ(At(15), "first") << "of a ring that is read later";
  EXPECT_EQ(At(20), "first");
  EXPECT_EQ(At(21), "second");
  Free(kPlace, 40, "third");
  names_.Revalidate();
  EXPECT_EQ(At(41), "third");
  EXPECT_EQ(At(30), "second");
  EXPECT_EQ(At(15), "first");
}

TEST_F(CallNamesTest, WhatWasFreedBeforeItCouldBeReadHasNoName) {
  Watch();
  memory_.tenants[kPlace] = "first";
  Free(kPlace, 20, "second");
  names_.Revalidate();
  EXPECT_EQ(At(10), kGone);
  EXPECT_EQ(At(30), "second");
  EXPECT_EQ(At(10), kGone);
}

TEST_F(CallNamesTest, WhatWasFreedBeforeItCouldBeReadIsCalledWhatWasReported) {
  Watch();
  memory_.tenants[kPlace] = "third";
  Free(kPlace, 20, "second", "first");
  Free(kPlace, 30, "third", "second");
  names_.Revalidate();
  EXPECT_EQ(memory_.asked, 0) << "nobody was called yet";
  EXPECT_EQ(At(25), "second");
  EXPECT_EQ(At(10), "first");
  EXPECT_EQ(At(35), "third");
  EXPECT_EQ(At(20), "first");
  EXPECT_EQ(memory_.asked, 2);
}

TEST_F(CallNamesTest, OfALongNameTheEndIsReported) {
  Watch();
  const std::string name(60, 'n');
  Free(kPlace, 20, "", name);
  Free(kPlace, 30, "", "\x01 spoilt");
  names_.Revalidate();
  EXPECT_EQ(At(10), "…" + name.substr(60 - PP_FREED_NAME));
  EXPECT_EQ(At(25), kGone);
}

TEST_F(CallNamesTest, OfWhatWasFreedTheLastSomeThousandsAreKnown) {
  Watch();
  for (uint64_t i = 1; i <= 100'000; ++i) {
    Free(kPlace, 10 * i, "next", "code " + std::to_string(i));
    names_.Revalidate();
  }
  EXPECT_EQ(At(5), kGone);
  EXPECT_EQ(At(10 * 70'000), "code 70000");
  EXPECT_EQ(At(10 * 100'000 + 1), "next");
}

TEST_F(CallNamesTest, WhatIsFreedWhileItIsReadHasNoName) {
  Watch();
  memory_.tenants[kPlace] = "first";
  memory_.before_reading = [this] {
    memory_.before_reading = {};
    Free(kPlace, 20, "second");
  };
  EXPECT_EQ(At(10), kGone) << "told since the round began";
  EXPECT_EQ(At(30), "second");
}

TEST_F(CallNamesTest, TwoWereFreedSinceItWasLastAsked) {
  Watch();
  memory_.tenants[kPlace] = "first";
  EXPECT_EQ(At(10), "first");
  Free(kPlace, 20, "second");
  Free(kPlace, 30, "third");
  names_.Revalidate();
  EXPECT_EQ(At(15), "first");
  EXPECT_EQ(At(25), kGone);
  EXPECT_EQ(At(35), "third");
}

TEST_F(CallNamesTest, NamesAreNotComparedWhereItIsReportedWhatIsFreed) {
  Watch();
  memory_.tenants[kPlace] = "first";
  for (uint64_t when = 1; when < 10; ++when) {
    EXPECT_EQ(At(when), "first");
    names_.Revalidate();
  }
  EXPECT_EQ(memory_.reads, 1);
  EXPECT_EQ(memory_.comparisons, 0);
}

TEST_F(CallNamesTest, WhereMoreWasFreedThanIsKeptNoNameOfBeforeIsBelieved) {
  constexpr RemoteAddr kNew{0x2000}, kOther{0x3000};
  Watch();
  memory_.tenants = {{kPlace, "first"}, {kOther, "other"}, {kNew, "new"}};
  EXPECT_EQ(At(10), "first");
  EXPECT_EQ(At(10, kOther), "other");
  Free(kPlace, 20, "second");
  for (uint64_t i = 0; i < PP_FREED_ENTRIES; ++i) {
    Free(RemoteAddr(0x9000), 100 + i, "");
  }
  names_.Revalidate();
  EXPECT_EQ(At(50, kNew), kGone);
  EXPECT_EQ(At(50, kOther), kGone) << "it may be another one that looks the same from here";
  const uint64_t later = 200 + PP_FREED_ENTRIES;
  EXPECT_EQ(At(later, kNew), "new");
  EXPECT_EQ(At(later, kOther), "other");
  EXPECT_EQ(At(later), "second");
  EXPECT_EQ(At(60, kOther), kGone) << "of a ring that is read later";
  Free(kOther, later + 10, "");
  names_.Revalidate();
  EXPECT_EQ(At(60, kOther), kGone);
  EXPECT_EQ(At(later, kOther), "other");
  EXPECT_EQ(memory_.comparisons, 0);
}

TEST_F(CallNamesTest, MoreIsFreedThanIsKeptWhileANameIsRead) {
  Watch();
  memory_.tenants[kPlace] = "first";
  memory_.before_reading = [this] {
    memory_.before_reading = {};
    for (uint64_t i = 0; i < 2 * PP_FREED_ENTRIES; ++i) {
      Free(RemoteAddr(0x9000), 100 + i, "");
    }
  };
  EXPECT_EQ(At(10), kGone);
  EXPECT_EQ(At(101 + 2 * PP_FREED_ENTRIES), "first");
}

TEST_F(CallNamesTest, ModulesOfFreedCodeAreLookedUpAgain) {
  Watch();
  memory_.tenants[kPlace] = "first";
  const auto module_at = [this](uint64_t when) {
    return stacks_.frame(names_.OfModule(kPlace, RemoteAddr(7), when).function).function;
  };
  EXPECT_EQ(module_at(10), "module of first");
  Free(kPlace, 20, "second");
  names_.Revalidate();
  EXPECT_EQ(module_at(30), "module of second");
  EXPECT_EQ(module_at(15), "first") << "which module it was is not known any more";
}

TEST_F(CallNamesTest, WithoutAWordNamesAreCompared) {
  head_.watches_code = 0;
  Watch();
  memory_.tenants[kPlace] = "first";
  EXPECT_EQ(At(10), "first");
  memory_.tenants[kPlace] = "second";
  EXPECT_EQ(At(20), "first") << "once a round";
  names_.Revalidate();
  EXPECT_EQ(At(30), "second");
}

TEST_F(CallNamesTest, WhatMayNotHaveBeenReportedIsNobodysName) {
  Watch();
  memory_.tenants[kPlace] = "first";
  EXPECT_EQ(At(10), "first");
  memory_.tenants[kPlace] = "second";  // freed at 20, without a record of it
  head_.freed_unsure = 20;
  Free(RemoteAddr(0x2000), 25, "other");
  names_.Revalidate();
  EXPECT_EQ(At(15), kGone);
  EXPECT_EQ(At(30), "second");
  EXPECT_EQ(At(22), kGone) << "what was told with it was left out";
}

TEST_F(CallNamesTest, OnceTheTargetHasLeftOnlyWhatIsKnownHasAName) {
  constexpr RemoteAddr kNew{0x2000};
  Watch();
  memory_.tenants = {{kPlace, "first"}, {kNew, "new"}};
  EXPECT_EQ(At(10), "first");
  memory_.before_reading = [this] { head_.watches_code = 0; };
  EXPECT_EQ(At(20, kNew), kGone) << "it may have been freed since";
  EXPECT_EQ(At(20), "first");
}

TEST_F(CallNamesTest, ASpoiltTableIsBounded) {
  Watch();
  memory_.tenants[kPlace] = "first";
  EXPECT_EQ(At(10), "first");
  for (const uint64_t spoilt : {UINT64_MAX, uint64_t{3}, uint64_t{1} << 40}) {
    head_.freed = spoilt;
    names_.Revalidate();
    EXPECT_EQ(At(11), "first");
  }
}

}  // namespace
}  // namespace ptrace_prof
