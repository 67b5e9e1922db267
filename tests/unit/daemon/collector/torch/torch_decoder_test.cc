// Objects of every known layout are recognised as what they are and as nothing else, and records become operators.
#include "daemon/collector/torch/torch_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "tests/fuzz/fake_memory.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kThread = 7;
constexpr Tid kTid(70);
constexpr uint64_t kSchema = FakeMemory::kBase + 0x100;
constexpr uint64_t kText = FakeMemory::kBase + 0x400;
constexpr std::string_view kName = "aten::mm";
constexpr std::string_view kRange = "Optimizer.step#Adam.step";

// What a process with that layout would show.
class World {
 public:
  explicit World(const pp_torch_row& row) : row_(row) {
    memory.Put(kSchema, kText);
    PutText(kText, kName);
    if (!is_old()) {
      memory.Put(kSchema + 8, uint64_t{kName.size()});
    }
  }

  bool is_old() const { return (row_.flags & PP_TORCH_ROW_OLD_STRINGS) != 0; }

  void PutText(uint64_t at, std::string_view text) {
    memory.Put(at - PP_TORCH_BEFORE_NAME, uint64_t{text.size()});
    for (size_t i = 0; i < text.size(); ++i) {
      memory.Put(at + i, text[i]);
    }
  }

  // An operator, or a range. All other bytes are what happened to be there.
  pp_torch_raw Object(uint64_t handle, int64_t sequence, bool is_range) {
    pp_torch_raw raw;
    auto* bytes = reinterpret_cast<uint8_t*>(&raw);
    std::generate(bytes, bytes + sizeof raw, [this] { return static_cast<uint8_t>(random_()); });
    const auto put = [&raw](size_t at, auto value) { std::memcpy(raw.object + at, &value, sizeof value); };
    put(PP_TORCH_AT_SCOPE, static_cast<uint8_t>(is_range ? OperatorScope::kUserScope : OperatorScope::kFunction));
    put(PP_TORCH_AT_FUNCTION, is_range ? kText + 0x1000 : kSchema);
    if (is_range && !is_old()) {
      put(PP_TORCH_AT_FUNCTION + 8, uint64_t{kRange.size()});
    }
    put(row_.function_index, uint8_t{is_range ? uint8_t{0} : uint8_t{1}});
    put(row_.sequence, sequence);
    put(row_.forward_thread, uint64_t{0});
    put(row_.handle, handle);
    put(row_.is_async, uint8_t{0});
    raw.has_name = 1;
    const uint64_t length = kRange.size();
    std::memcpy(raw.name, &length, sizeof length);
    std::memcpy(raw.name + PP_TORCH_BEFORE_NAME, kRange.data(), kRange.size());
    return raw;
  }

  FakeMemory memory;

 private:
  const pp_torch_row row_;
  std::mt19937 random_{20261128};
};

TEST(TorchRowChoice, RecognisesEachLayout) {
  for (const TorchRow& row : TorchRows()) {
    World world(row.fields);
    TorchRowChoice choice(world.memory);
    for (uint64_t i = 1; i <= 64; ++i) {
      choice.Try(kThread, world.Object(10 + i, i % 3 == 0 ? -1 : static_cast<int64_t>(i), i % 5 == 0));
    }
    ASSERT_NE(choice.Chosen(false), nullptr) << row.versions;
    EXPECT_EQ(choice.Chosen(false)->versions, row.versions);
    EXPECT_FALSE(choice.IsHopeless());
  }
}

TEST(TorchRowChoice, KnowsNoRowForAnythingElse) {
  World world(TorchRows().front().fields);
  TorchRowChoice choice(world.memory);
  std::mt19937 random(1);
  for (int i = 0; i < 64; ++i) {
    pp_torch_raw raw;
    auto* bytes = reinterpret_cast<uint8_t*>(&raw);
    std::generate(bytes, bytes + sizeof raw, [&] { return static_cast<uint8_t>(random()); });
    choice.Try(kThread, raw);
  }
  EXPECT_TRUE(choice.IsHopeless());
  EXPECT_EQ(choice.Chosen(true), nullptr);
}

TEST(TorchRowChoice, WaitsForEnoughObjectsExceptAtTheEnd) {
  const TorchRow& row = TorchRows().back();
  World world(row.fields);
  TorchRowChoice choice(world.memory);
  for (uint64_t i = 1; i <= 5; ++i) {
    choice.Try(kThread, world.Object(i, -1, false));
  }
  EXPECT_EQ(choice.Chosen(false), nullptr);
  ASSERT_NE(choice.Chosen(true), nullptr);
  EXPECT_EQ(choice.Chosen(true)->versions, row.versions);
}

// Handles are numbers of one counter: an object cannot be older than one before it on its thread.
TEST(TorchRowChoice, RefusesHandlesThatGoBack) {
  World world(TorchRows().back().fields);
  TorchRowChoice choice(world.memory);
  choice.Try(kThread, world.Object(50, -1, false));
  choice.Try(kThread + 1, world.Object(49, -1, false));
  EXPECT_FALSE(choice.IsHopeless());
  choice.Try(kThread, world.Object(49, -1, false));
  EXPECT_TRUE(choice.IsHopeless());
}

class Decoding : public ::testing::Test {
 protected:
  struct Seen {
    Tid tid;
    std::string name;
    Operator one;
  };

  void Add(uint32_t kind, uint32_t key, uint64_t when, const void* payload = nullptr, size_t bytes = 0) {
    const size_t units = (bytes + sizeof(pp_unit) - 1) / sizeof(pp_unit);
    records_.push_back({PP_WHEN_TAG(when, PP_TAG_EXTENDED), PP_EXTENDED(kind, units, key)});
    const size_t at = records_.size();
    records_.resize(at + units);
    if (bytes > 0) {
      std::memcpy(&records_[at], payload, bytes);
    }
  }
  void Raw(uint32_t key, uint64_t when, bool is_range = false, int64_t sequence = -1) {
    const pp_torch_raw raw = world_.Object(++handles_, sequence, is_range);
    Add(PP_EXTENDED_OP_RAW, key, when, &raw, sizeof raw);
  }
  void Begin(uint32_t key, uint64_t when, std::string_view range = "", bool is_async = false) {
    struct {
      pp_torch_op op;
      char name[PP_TORCH_MAX_NAME];
    } said{};
    said.op = {.function = range.empty() ? kSchema : 0,
               .handle = ++handles_,
               .sequence = -1,
               .forward_thread = 0,
               .scope = static_cast<uint8_t>(range.empty() ? 0 : 7),
               .is_async = is_async ? uint8_t{1} : uint8_t{0},
               .name_bytes = static_cast<uint16_t>(range.size())};
    std::memcpy(said.name, range.data(), range.size());
    Add(PP_EXTENDED_OP, key, when, &said, sizeof said.op + range.size());
  }
  void Memory(uint32_t kind, uint64_t when, const pp_torch_block& block) { Add(kind, 0, when, &block, sizeof block); }
  void End(uint32_t key, uint64_t when) { Add(PP_EXTENDED_OP_END, key, when); }
  void Lost(uint64_t from, uint64_t to, uint64_t count) {
    records_.push_back({PP_WHEN_TAG(from, PP_TAG_LOST), count});
    records_.push_back({PP_WHEN_TAG(to, PP_TAG_LOST_END), 0});
  }
  // In pieces of any size, as a ring is read.
  void Feed(size_t piece = 1000, size_t ring = 0) {
    for (size_t at = 0; at < records_.size(); at += piece) {
      const auto part = std::span(records_).subspan(at, std::min(piece, records_.size() - at));
      decoder_.Feed(ring, Tid(kTid.value + static_cast<int32_t>(ring)), kThread + ring, part, TickMap::Monotonic(),
                    Nanos(1'000'000));
    }
    records_.clear();
  }
  void LearnTheRow() {
    for (uint32_t i = 1; i <= 16; ++i) {
      Raw(i, i * 10);
      End(i, i * 10 + 5);
    }
    Feed();
    ASSERT_NE(decoder_.row(), nullptr);
    seen_.clear();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Seen& one : seen_) {
      names.push_back(one.name);
    }
    return names;
  }

  World world_{TorchRows().back().fields};
  std::vector<pp_record> records_;
  std::vector<Seen> seen_;
  uint64_t handles_ = 0;
  std::vector<Allocation> allocations_;
  TorchDecoder decoder_{world_.memory,
                        {[this](Tid tid, const Operator& one) {
                           seen_.push_back({tid, std::string(one.name), one});
                         },
                         [this](Tid, const Allocation& one) { allocations_.push_back(one); }}};
};

TEST_F(Decoding, NothingThatCameBeforeTheLayoutWasKnownIsMissing) {
  uint64_t base = 0;
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}}) {  // the layout is known from the second round on
    base += 10'000;
    Raw(1, base, true);
    for (uint32_t i = 2; i <= 20; ++i) {
      Raw(i, base + i * 10, false, i);
      End(i, base + 5 + i * 10);
    }
    End(1, base + 1000);
    Feed(piece);
    ASSERT_EQ(seen_.size(), 20U) << piece;
    EXPECT_EQ(seen_.back().name, kRange);  // it ended last
    EXPECT_TRUE(seen_.back().one.is_range());
    EXPECT_EQ(seen_.front().name, kName);
    EXPECT_EQ(seen_.front().one.begin.value, base + 20);
    EXPECT_EQ(seen_.front().one.end.value, base + 25);
    EXPECT_EQ(seen_.front().one.sequence, 2);
    EXPECT_EQ(seen_.front().tid, kTid);
    seen_.clear();
  }
}

TEST_F(Decoding, InnerOperatorsComeFirst) {
  LearnTheRow();
  Begin(1, 1000, "epoch");
  Begin(2, 1010);
  Begin(3, 1020);
  End(3, 1030);
  End(2, 1040);
  End(1, 1050);
  Feed(1);
  EXPECT_EQ(Names(), (std::vector<std::string>{"aten::mm", "aten::mm", "epoch"}));
  EXPECT_EQ(seen_[1].one.begin, Nanos(1010));
  EXPECT_EQ(seen_[1].one.end, Nanos(1040));
  EXPECT_EQ(seen_[1].one.ending, OperatorEnd::kSeen);
}

TEST_F(Decoding, AnAsynchronousOneMayEndOnAnotherThread) {
  LearnTheRow();
  Begin(1, 1000, "", true);
  Feed();
  Lost(1100, 1200, 5);
  End(1, 2000);
  Feed(1000, 1);
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_TRUE(seen_[0].one.is_async);
  EXPECT_EQ(seen_[0].tid, kTid);
  EXPECT_EQ(seen_[0].one.end, Nanos(2000));
  EXPECT_EQ(decoder_.counts().unmatched, 0U);
}

TEST_F(Decoding, OneThatEndsOnAnotherThreadIsAsynchronous) {
  LearnTheRow();
  Begin(1, 1000, "awaits");
  Begin(2, 1010);
  End(2, 1020);
  Feed();
  End(1, 2000);
  Feed(1000, 1);
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_TRUE(seen_[1].one.is_async);
  EXPECT_EQ(seen_[1].tid, kTid);
  EXPECT_EQ(seen_[1].one.end, Nanos(2000));
  EXPECT_FALSE(seen_[0].one.is_async);
}

TEST_F(Decoding, TwoAfterEachOtherAtOneAddressEndElsewhere) {
  LearnTheRow();
  Begin(1, 1000, "first");
  Begin(1, 3000, "second");
  Feed();
  End(1, 2000);
  End(1, 4000);
  Feed(1000, 1);
  EXPECT_EQ(Names(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(seen_[0].one.end, Nanos(2000));
  EXPECT_EQ(seen_[1].one.end, Nanos(4000));
}

// The ring on which it ends may be read first.
TEST_F(Decoding, AnEndThatComesBeforeItsBegin) {
  LearnTheRow();
  End(1, 2000);
  Feed(1000, 1);
  EXPECT_EQ(decoder_.counts().unmatched, 1U);
  Begin(1, 1000, "awaits");
  Begin(1, 2100);  // the same address again
  End(1, 2200);
  Feed();
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[0].one.end, Nanos(2000));
  EXPECT_TRUE(seen_[0].one.is_async);
  EXPECT_EQ(seen_[1].one.end, Nanos(2200));
  EXPECT_FALSE(seen_[1].one.is_async);
  EXPECT_EQ(decoder_.counts().unmatched, 0U);
}

TEST_F(Decoding, AnEndOfAnotherOneAtThatAddress) {
  LearnTheRow();
  End(1, 900);  // it had begun before the recording
  Feed(1000, 1);
  Begin(1, 1000);
  Feed();
  Lost(1100, 1200, 5);
  End(1, 1300);  // of one whose begin was lost: not the one on the other thread, whose end is still to come
  Feed(1000, 1);
  EXPECT_EQ(seen_.size(), 0U);
  End(1, 1250);
  Feed();
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].one.end, Nanos(1250));
  EXPECT_FALSE(seen_[0].one.is_async);
  EXPECT_EQ(decoder_.counts().unmatched, 2U);
}

TEST_F(Decoding, WhatIsOpenInAGapEndsWithIt) {
  LearnTheRow();
  Begin(1, 1000);
  Lost(1100, 1200, 5);
  End(1, 1300);  // of another one, whose begin was lost
  Feed();
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].one.ending, OperatorEnd::kLost);
  EXPECT_EQ(seen_[0].one.end, Nanos(1100));
  EXPECT_EQ(decoder_.counts().lost, 5U);
  EXPECT_EQ(decoder_.counts().unmatched, 1U);
}

TEST_F(Decoding, WhatIsOpenAtTheEndIsMarked) {
  LearnTheRow();
  Begin(1, 1000);
  Feed();
  decoder_.Finish(Nanos(5000));
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].one.ending, OperatorEnd::kOpen);
  EXPECT_EQ(seen_[0].one.end, Nanos(5000));
}

TEST_F(Decoding, AnUnreadableNameIsCounted) {
  LearnTheRow();
  pp_torch_op op{.function = 1, .handle = 99, .sequence = -1};
  Add(PP_EXTENDED_OP, 1, 1000, &op, sizeof op);
  End(1, 1010);
  Feed();
  EXPECT_EQ(Names(), std::vector<std::string>{""});
  EXPECT_EQ(decoder_.counts().without_name, 1U);
}

TEST_F(Decoding, MemoryIsThatOfTheInnermostOperator) {
  LearnTheRow();
  Begin(1, 1000);
  const uint64_t outer = handles_;
  Memory(PP_EXTENDED_ALLOCATED, 1010, {0x1000, 100});
  Begin(2, 1020);
  Memory(PP_EXTENDED_ALLOCATED, 1030, {0x2000, 30});
  Memory(PP_EXTENDED_FREED, 1040, {0x1000, 0});
  End(2, 1050);
  End(1, 1060);
  Memory(PP_EXTENDED_FREED, 1070, {0x2000, 0});
  Memory(PP_EXTENDED_FREED, 1080, {0x2000, 0});  // it is unknown now
  Feed(1);
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[0].one.cpu_memory, 30 - 100);
  EXPECT_EQ(seen_[1].one.cpu_memory, 100);
  ASSERT_EQ(allocations_.size(), 4U);
  const int64_t bytes[] = {100, 30, -100, -30};
  const uint64_t allocated[] = {100, 130, 30, 0};
  const uint64_t handles[] = {outer, outer + 1, outer + 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(allocations_[i].bytes, bytes[i]);
    EXPECT_EQ(allocations_[i].allocated, allocated[i]);
    EXPECT_EQ(allocations_[i].operator_handle, handles[i]);
    EXPECT_TRUE(allocations_[i].device.is_cpu());
  }
  EXPECT_EQ(decoder_.counts().allocations, 4U);
  EXPECT_EQ(decoder_.counts().unknown_blocks, 1U);
}

TEST_F(Decoding, OneThreadFreesWhatAnotherAllocated) {
  LearnTheRow();
  Memory(PP_EXTENDED_ALLOCATED, 1000, {0x1000, 8});
  Feed();
  Memory(PP_EXTENDED_FREED, 1010, {0x1000, 0});
  Memory(PP_EXTENDED_ALLOCATED, 1020, {0x1000, 16});
  Feed(1000, 1);
  ASSERT_EQ(allocations_.size(), 3U);
  EXPECT_EQ(allocations_[1].bytes, -8);
  EXPECT_EQ(allocations_[2].allocated, 16U);
}

TEST_F(Decoding, AnotherDeviceSaysItself) {
  LearnTheRow();
  Begin(1, 1000);
  const pp_torch_reported said{{0x7000, -512}, 4096, 1 << 20};
  Add(PP_EXTENDED_MEMORY, 1 | 2 << 8, 1010, &said, sizeof said);
  End(1, 1020);
  Feed();
  ASSERT_EQ(allocations_.size(), 1U);
  EXPECT_EQ(allocations_[0].device, (TorchDevice{1, 2}));
  EXPECT_EQ(allocations_[0].bytes, -512);
  EXPECT_EQ(allocations_[0].allocated, 4096U);
  EXPECT_EQ(allocations_[0].reserved, 1U << 20);
  EXPECT_EQ(seen_[0].one.cpu_memory, 0);
  EXPECT_EQ(seen_[0].one.device_memory, -512);
}

// A file that is mapped counts as CPU memory, and says 0 for what is allocated in all.
TEST_F(Decoding, MemoryBetweenProcessesIsCpuMemory) {
  LearnTheRow();
  const auto map = [this](int64_t bytes, uint64_t when) {
    const pp_torch_reported said{{0x7000, bytes}, 0, 512};
    Add(PP_EXTENDED_MEMORY, 0xff00, when, &said, sizeof said);
  };
  map(-512, 1000);  // mapped before
  Memory(PP_EXTENDED_ALLOCATED, 1010, {0x1000, 100});
  map(512, 1020);
  map(-512, 1030);
  Feed();
  ASSERT_EQ(allocations_.size(), 4U);
  const uint64_t allocated[] = {0, 100, 612, 100};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(allocations_[i].allocated, allocated[i]);
    EXPECT_EQ(allocations_[i].device, (TorchDevice{0, -1}));
  }
}

TEST_F(Decoding, NonsenseIsCountedAndSkipped) {
  LearnTheRow();
  pp_torch_op op{.function = 0, .handle = 1, .sequence = -1, .name_bytes = 100};
  Add(PP_EXTENDED_OP, 1, 1000, &op, sizeof op);  // its name is missing
  Add(PP_EXTENDED_OP_RAW, 2, 1000, &op, sizeof op);
  Add(77, 3, 1000);
  records_.push_back({PP_WHEN_TAG(1000, PP_TAG_START), 0});
  records_.push_back({PP_WHEN_TAG(1000, PP_TAG_EXTENDED), PP_EXTENDED(PP_EXTENDED_OP, PP_MAX_UNITS + 1, 4)});
  Memory(PP_EXTENDED_ALLOCATED, 1000, {0x1000, -1});
  Memory(PP_EXTENDED_MEMORY, 1000, {0x1000, 1});  // its totals are missing
  Add(PP_EXTENDED_FREED, 0, 1000);
  Begin(5, 1100);
  End(5, 1110);
  Feed();
  EXPECT_EQ(Names(), std::vector<std::string>{"aten::mm"});
  EXPECT_EQ(decoder_.counts().strange, 8U);
  EXPECT_TRUE(allocations_.empty());
}

}  // namespace
}  // namespace ptrace_prof
