// A ring that is used in chunks, with both of its ends: the stub's code writes, the collector's code reads.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "attach/inject/ring_reader.h"
#include "tests/unit/attach/target/python/event_target.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kRecords = 8 * PP_CHUNK_LEAST;
constexpr uint64_t kMostUnused = 5;  // in a chunk: what an event needs in addition to its own record

class ChunksTest : public ::testing::Test {
 protected:
  explicit ChunksTest(uint32_t ring = kRecords) {
    event_target_set_records(ring);
    const auto map = [](size_t size) {
      return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    };
    channel_ = static_cast<std::byte*>(map(event_target_channel_size()));
    tables_ = map(event_target_tables_size());
    event_target_prepare(tables_, channel_);
    static_cast<pp_private*>(tables_)->armed = 1;
    event_target_enter_frame(0x7f0000001000);
    ring_ = reinterpret_cast<pp_ring*>(channel_ + PP_RING_OFFSET(0));
    reader_.emplace(ring_, reinterpret_cast<pp_record*>(channel_ + PP_RECORDS_OFFSET(1, ring, 0)), ring);
  }
  ~ChunksTest() override {
    event_target_be_generator(0);
    ::munmap(channel_, event_target_channel_size());
    ::munmap(tables_, event_target_tables_size());
    event_target_set_records(PP_MIN_RING_RECORDS);
  }

  void Make(unsigned tag, bool of_generator) {
    event_target_be_generator(of_generator ? 1 : 0);
    event_target_event(tag);
    made_.push_back(tag);
    if (of_generator) {
      made_.push_back(PP_TAG_FRAME);
    }
  }

  void MakeExtended(unsigned units) {
    std::array<pp_unit, PP_CALL_UNITS> payload;
    for (unsigned i = 0; i < units; ++i) {
      payload[i] = {{next_unit_, ~next_unit_}};
      ++next_unit_;
    }
    event_target_extended(PP_EXTENDED(7, units, next_unit_), payload.data());
    made_.push_back(kExtended + units);
  }

  // Reads up to `most` records and compares them with those that were made, gaps included.
  size_t Read(size_t most) {
    std::vector<pp_record> records(most);
    const size_t count = reader_->Drain(records);
    for (size_t i = 0; i < count; ++i) {
      if (units_left_ > 0) {
        EXPECT_EQ(records[i].when_tag, unit_++);
        EXPECT_EQ(records[i].value, ~records[i].when_tag);
        --units_left_;
        continue;
      }
      const uint64_t tag = PP_TAG(records[i].when_tag), when = PP_WHEN(records[i].when_tag);
      EXPECT_GE(when, last_);
      last_ = when;
      if (tag == PP_TAG_LOST) {
        for (uint64_t lost = 0; lost < records[i].value && !made_.empty(); ++lost) {
          made_.pop_front();
          if (!made_.empty() && made_.front() == PP_TAG_FRAME) {
            made_.pop_front();
          }
        }
      } else if (tag != PP_TAG_LOST_END) {
        EXPECT_FALSE(made_.empty());
        const uint64_t made = made_.empty() ? 0 : made_.front();
        EXPECT_EQ(tag, made >= kExtended ? uint64_t{PP_TAG_EXTENDED} : made) << "record " << read_ + i;
        made_.pop_front();
        if (made >= kExtended) {
          units_left_ = PP_EXTENDED_UNITS(records[i].value);
          unit_ = PP_EXTENDED_WORD(records[i].value) - units_left_;
          EXPECT_EQ(units_left_, made - kExtended);
        }
      }
    }
    read_ += count;
    return count;
  }

  std::byte* channel_ = nullptr;
  void* tables_ = nullptr;
  pp_ring* ring_ = nullptr;
  std::optional<RingReader> reader_;
  static constexpr unsigned kExtended = 1000;  // in made_: an extended record, plus its number of units
  std::deque<unsigned> made_;
  uint64_t next_unit_ = 1;
  uint64_t units_left_ = 0;  // of an extended record that is being read
  uint64_t unit_ = 0;        // the next unit of that record
  uint64_t last_ = 0;
  uint64_t read_ = 0;
};

TEST_F(ChunksTest, WhoIsReadInTimeStaysInTheFirstTwo) {
  for (int i = 0; i < 600; ++i) {
    for (int k = 0; k < 500; ++k) {
      Make(PP_TAG_START, false);
      Make(PP_TAG_RETURN, k % 3 == 0);
    }
    while (Read(2048) > 0) {
    }
    ASSERT_TRUE(made_.empty());
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(ring_->head, 4 * kRecords);
  EXPECT_EQ(ring_->lost_total, 0U);
  const auto* laps = reinterpret_cast<pp_lap*>(channel_ + PP_RING_OFFSET(0) + PP_LAPS_AT);
  std::set<uint32_t> chunks;
  for (uint32_t lap = 0; lap < kRecords / PP_CHUNK_LEAST; ++lap) {
    chunks.insert(PP_LAP_CHUNK(laps[lap]));
  }
  EXPECT_EQ(chunks, (std::set<uint32_t>{0, 1}));
}

TEST_F(ChunksTest, AllOfItIsUsedBeforeAnythingIsLost) {
  for (int round = 0; round < 3; ++round) {
    const uint64_t begin = ring_->head;
    const uint64_t lost = ring_->lost_total;
    while (ring_->lost_total == lost) {
      Make(PP_TAG_START, round == 2);
    }
    EXPECT_GE(reader_->Waiting(), kRecords - kMostUnused * (kRecords / PP_CHUNK_LEAST) - PP_CHUNK_LEAST * (round > 0));
    EXPECT_LE(ring_->head - begin, kRecords);
    while (Read(1000) > 0) {
    }
    Make(PP_TAG_RETURN, false);
    EXPECT_EQ(Read(10), 3U) << "a gap, and what came after it";
    EXPECT_TRUE(made_.empty());
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(ChunksTest, EverythingComesOutAsItWentIn) {
  std::mt19937 random(4711);
  for (int round = 0; round < 2'000; ++round) {
    const auto events = random() % (round % 500 < 450 ? 1'000 : 60'000);
    for (uint32_t i = 0; i < events; ++i) {
      if (random() % 64 == 0) {
        MakeExtended(random() % (PP_CALL_UNITS + 1));
      } else {
        Make(random() % 2 == 0 ? PP_TAG_START : PP_TAG_RETURN, random() % 4 == 0);
      }
    }
    if (random() % 16 == 0) {
      event_target_forget_thread();
    }
    const uint64_t waiting = reader_->Waiting();
    uint64_t read = 0;
    for (uint64_t most = random() % (waiting + 1); read < most;) {
      const size_t count = Read(std::min<uint64_t>(most - read, 1 + random() % 4096));
      ASSERT_GT(count, 0U);
      read += count;
    }
    ASSERT_EQ(reader_->Waiting(), waiting - read);
    ASSERT_FALSE(HasFailure());
  }
  while (Read(4096) > 0) {
  }
  EXPECT_EQ(reader_->skipped(), 0U);
  EXPECT_GT(ring_->lost_total, 0U);
  EXPECT_GT(ring_->head, 10 * kRecords);
}

// A ring without chunks, in which extended records wrap around its end. A record with more units than allowed is
// refused.
class SmallRingTest : public ChunksTest {
 protected:
  SmallRingTest() : ChunksTest(PP_MIN_RING_RECORDS) {}
};

TEST_F(SmallRingTest, ExtendedRecordsComeOutAsTheyWentIn) {
  std::mt19937 random(4711);
  for (int round = 0; round < 20'000; ++round) {
    for (uint32_t i = random() % 30; i > 0; --i) {
      if (random() % 4 == 0) {
        MakeExtended(random() % (PP_CALL_UNITS + 1));
      } else {
        Make(PP_TAG_START, random() % 2 == 0);
      }
      ASSERT_LE(reader_->Waiting(), PP_MIN_RING_RECORDS);
    }
    const uint64_t head = ring_->head;
    event_target_extended(PP_EXTENDED(7, PP_CALL_UNITS + 1, 0), nullptr);
    ASSERT_EQ(ring_->head, head);
    for (uint32_t i = random() % 4; i > 0; --i) {
      Read(1 + random() % 100);
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(reader_->skipped(), 0U);
  EXPECT_GT(ring_->lost_total, 1'000U);
  EXPECT_GT(ring_->head, 1000 * PP_MIN_RING_RECORDS);
}

}  // namespace
}  // namespace ptrace_prof
