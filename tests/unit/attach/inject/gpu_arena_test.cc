#include "attach/inject/gpu_arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "attach/inject/gpu_failure.h"
#include "attach/inject/stub_file.h"

namespace ptrace_prof {
namespace {

constexpr GpuArenaShape kArenaShape{3, PP_GPU_MIN_SLOT_BYTES, 4711};

// An arena as a shim makes it.
class ArenaMemory {
 public:
  ArenaMemory() : fd_(::memfd_create("t", MFD_ALLOW_SEALING)) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(kArenaShape.size())) != 0) {
      ::abort();
    }
    memory_ =
        static_cast<uint8_t*>(::mmap(nullptr, kArenaShape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    head().magic = PP_GPU_ARENA_MAGIC;
    head().abi_version = PP_GPU_ABI_VERSION;
    head().slot_count = kArenaShape.slots;
    head().slot_bytes = kArenaShape.slot_bytes;
    head().nonce = kArenaShape.nonce;
    head().size = kArenaShape.size();
    head().state = PP_GPU_STATE_ATTACHING;
  }
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;
  ~ArenaMemory() { ::munmap(memory_, kArenaShape.size()); }

  void Seal() const { (void)::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW); }
  const UniqueFd& file() const { return fd_; }
  pp_gpu_arena& head() const { return *reinterpret_cast<pp_gpu_arena*>(memory_); }
  pp_gpu_slot& slot(uint32_t i) const { return *reinterpret_cast<pp_gpu_slot*>(memory_ + PP_GPU_SLOT_OFFSET(i)); }
  uint8_t* buffer(uint32_t i) const {
    return memory_ + PP_GPU_BUFFER_OFFSET(kArenaShape.slots, uint64_t{kArenaShape.slot_bytes}, i);
  }
  pp_gpu_clock& clock(uint64_t sequence) const {
    return reinterpret_cast<pp_gpu_clock*>(memory_ + PP_GPU_CLOCKS_OFFSET(kArenaShape.slots))[sequence % PP_GPU_CLOCKS];
  }
  void Fill(uint32_t i, uint64_t valid, uint64_t sequence) const {
    std::memset(buffer(i), 0x5a, kArenaShape.slot_bytes);
    slot(i) = {.state = PP_GPU_SLOT_FULL, .sequence = sequence, .valid = valid, .realtime = 7, .monotonic = 8};
  }
  void AddClock(uint64_t sequence) const {
    clock(sequence) = {sequence, 100 + sequence, 200 + sequence, 1};
    head().clocks = sequence;
  }

 private:
  UniqueFd fd_;
  uint8_t* memory_ = nullptr;
};

class GpuArenaTest : public testing::Test {
 protected:
  GpuArena Open() {
    memory_.Seal();
    Result<GpuArena> arena = GpuArena::Take(memory_.file(), kArenaShape);
    EXPECT_TRUE(arena.has_value()) << arena.error().message;
    return std::move(arena).value();
  }
  Code Refusal(const GpuArenaShape& shape = kArenaShape) const {
    const Result<GpuArena> arena = GpuArena::Take(memory_.file(), shape);
    return arena.has_value() ? Code::kOk : arena.error().code;
  }
  Reason Why(const GpuArenaShape& shape = kArenaShape) const {
    const Result<GpuArena> arena = GpuArena::Take(memory_.file(), shape);
    return arena.has_value() ? Reason::kUnspecified : arena.error().reason;
  }

  ArenaMemory memory_;
};

TEST_F(GpuArenaTest, IsTakenOnceItIsSealedAndBegun) {
  EXPECT_EQ(Refusal(), Code::kUnavailable) << "it could still shrink";
  memory_.Seal();
  memory_.head().state = PP_GPU_STATE_NONE;
  EXPECT_EQ(Refusal(), Code::kUnavailable) << "it is not there yet";
  memory_.head().state = PP_GPU_STATE_ATTACHING;
  EXPECT_EQ(Refusal(), Code::kOk);
}

TEST_F(GpuArenaTest, OfAnotherShapeIsRefused) {
  memory_.Seal();
  EXPECT_EQ(Why({4, kArenaShape.slot_bytes, kArenaShape.nonce}), Reason::kTracerLost);
  EXPECT_EQ(Why({3, 2 * kArenaShape.slot_bytes, kArenaShape.nonce}), Reason::kTracerLost);
  EXPECT_EQ(Why({3, kArenaShape.slot_bytes, 4712}), Reason::kTracerLost);
  EXPECT_EQ(Refusal({0, kArenaShape.slot_bytes, kArenaShape.nonce}), Code::kInvalidArgument);
  EXPECT_EQ(Refusal({3, kArenaShape.slot_bytes + 1, kArenaShape.nonce}), Code::kInvalidArgument);
  EXPECT_EQ(Refusal({3, UINT32_MAX, kArenaShape.nonce}), Code::kInvalidArgument);
  memory_.head().magic = 0;
  EXPECT_EQ(Why(), Reason::kTracerLost);
}

TEST_F(GpuArenaTest, GivesBuffersInTheirOrderAndTakesThemBackZeroed) {
  GpuArena arena = Open();
  memory_.Fill(0, 300, 9);
  memory_.Fill(2, 100, 8);
  std::vector<uint64_t> sequences;
  const size_t count = arena.Drain([&](const GpuBatch& batch) {
    sequences.push_back(batch.sequence);
    EXPECT_EQ(batch.records.size(), batch.sequence == 9 ? 300U : 100U);
    EXPECT_EQ(batch.records.front(), 0x5a);
    EXPECT_EQ(batch.clock.realtime.value, 7);
    EXPECT_EQ(batch.clock.monotonic.value, 8);
  });
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(sequences, (std::vector<uint64_t>{8, 9}));
  EXPECT_EQ(memory_.slot(0).state, static_cast<uint32_t>(PP_GPU_SLOT_FREE));
  for (uint32_t at = 0; at < 300; ++at) {
    ASSERT_EQ(memory_.buffer(0)[at], 0);
  }
  EXPECT_EQ(arena.Drain([](const GpuBatch&) {}), 0U);
}

TEST_F(GpuArenaTest, LetsGoOfAllButWhatTheLibraryHas) {
  GpuArena arena = Open();
  const auto bytes_there = [&] {
    struct stat info {};
    ::fstat(memory_.file().get(), &info);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  };
  for (uint32_t i = 0; i < kArenaShape.slots; ++i) {
    memory_.Fill(i, 100, i + 1);
  }
  memory_.slot(1).state = PP_GPU_SLOT_HELD;
  ASSERT_GE(bytes_there(), kArenaShape.slots * uint64_t{kArenaShape.slot_bytes});
  arena.LetGo();
  EXPECT_LT(bytes_there(), 2 * uint64_t{kArenaShape.slot_bytes});
  EXPECT_EQ(memory_.buffer(1)[kArenaShape.slot_bytes - 1], 0x5a);
  EXPECT_EQ(memory_.buffer(2)[0], 0);
}

TEST_F(GpuArenaTest, LeavesWhatCameBackLaterForLater) {
  GpuArena arena = Open();
  memory_.Fill(0, 300, 9);
  memory_.slot(0).monotonic = 20;
  memory_.Fill(2, 100, 8);
  std::vector<uint64_t> sequences;
  const auto note = [&](const GpuBatch& batch) { sequences.push_back(batch.sequence); };
  EXPECT_EQ(arena.Drain(note, SIZE_MAX, Nanos(19)), 1U);
  EXPECT_EQ(arena.Drain(note, SIZE_MAX, Nanos(19)), 0U);
  EXPECT_EQ(arena.Drain(note, SIZE_MAX, Nanos(20)), 1U);
  EXPECT_EQ(sequences, (std::vector<uint64_t>{8, 9}));
}

TEST_F(GpuArenaTest, LeavesOutWhatMakesNoSense) {
  GpuArena arena = Open();
  memory_.Fill(1, uint64_t{kArenaShape.slot_bytes} + 1, 1);
  memory_.slot(0).state = 77;
  arena.Drain([](const GpuBatch&) { FAIL(); });
  EXPECT_EQ(arena.counts().invalid, 1U);
  EXPECT_EQ(memory_.slot(1).state, static_cast<uint32_t>(PP_GPU_SLOT_FREE));
  memory_.head().state = 99;
  EXPECT_EQ(arena.state(), GpuState::kNone);
  memory_.head().step = UINT32_MAX;
  EXPECT_EQ(arena.step(), "");
}

TEST_F(GpuArenaTest, HandsOutWhatAnEndedTargetWasWriting) {
  GpuArena arena = Open();
  memory_.slot(1).state = PP_GPU_SLOT_HELD;
  size_t bytes = 0;
  EXPECT_EQ(arena.Salvage([&](const GpuBatch& batch) { bytes += batch.records.size(); }), 1U);
  EXPECT_EQ(bytes, kArenaShape.slot_bytes);
}

TEST_F(GpuArenaTest, ReportsClocksOnceAndTheNewestOfThem) {
  GpuArena arena = Open();
  memory_.AddClock(1);
  memory_.AddClock(2);
  const std::vector<GpuClockPair> two = arena.NewClocks();
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].realtime.value, 102);
  EXPECT_EQ(two[1].monotonic.value, 202);
  EXPECT_TRUE(arena.NewClocks().empty());
  for (uint64_t i = 3; i <= 3 + 2 * PP_GPU_CLOCKS; ++i) {
    memory_.AddClock(i);
  }
  EXPECT_LE(arena.NewClocks().size(), PP_GPU_CLOCKS);
  memory_.head().clocks = 0;
  EXPECT_TRUE(arena.NewClocks().empty());
  memory_.head().clocks = UINT64_MAX;
  EXPECT_LE(arena.NewClocks().size(), PP_GPU_CLOCKS);
}

TEST_F(GpuArenaTest, SpeaksToTheShim) {
  GpuArena arena = Open();
  const uint64_t beat = memory_.head().beat;
  arena.RenewLease();
  EXPECT_NE(memory_.head().beat, beat);
  arena.AskToLeave();
  EXPECT_EQ(memory_.head().wanted, static_cast<uint32_t>(PP_GPU_WANT_LEAVE));
  EXPECT_EQ(memory_.head().bell, 1U);
  GpuArena::AskToLeave(memory_.file());
  EXPECT_EQ(memory_.head().wanted, static_cast<uint32_t>(PP_GPU_WANT_LEAVE_NOW));
}

TEST_F(GpuArenaTest, SaysWhyTheShimFailed) {
  GpuArena arena = Open();
  EXPECT_EQ(arena.Failure(Pid(7)).code, Code::kOk);
  memory_.head().error = PP_GPU_ERROR_CONFLICT;
  std::strcpy(memory_.head().other_tool, "Nsight\x1b[31m");
  memory_.head().state = PP_GPU_STATE_FAILED;
  const Error error = arena.Failure(Pid(7));
  EXPECT_EQ(error.reason, Reason::kConflictSubscriber);
  EXPECT_NE(error.message.find("Nsight"), std::string::npos);
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
  EXPECT_NE(error.remedy, "");
}

TEST(GpuFailure, HasAReasonForEachErrorAndARemedyWhereSomethingCanBeDone) {
  for (uint32_t error = PP_GPU_ERROR_SYSTEM_CALL; error <= PP_GPU_ERROR_CALL; ++error) {
    const Error said = GpuFailure(Pid(7), {error, PP_GPU_STEP_SUBSCRIBE, 1, 24, 0, ""});
    EXPECT_NE(said.reason, Reason::kUnspecified) << error;
    EXPECT_NE(said.message.find('7'), std::string::npos) << error;
    EXPECT_TRUE(!said.remedy.empty() || said.reason == Reason::kInternal) << error;
  }
  EXPECT_EQ(GpuFailure(Pid(7), {UINT32_MAX, UINT32_MAX, 0, 0, 0, ""}).reason, Reason::kTracerLost);
  EXPECT_EQ(CuptiRelease(24), "CUDA 12.6");
  EXPECT_EQ(CuptiRelease(130001), "CUDA 13.0 update 1");
  EXPECT_EQ(CuptiRelease(UINT32_MAX), "CUDA after 13.5");
}

TEST(GpuShimFile, IsCarriedByOurProgramAndReportedItsPart) {
  Result<GpuShimFile> shim = GpuShimFile::Carried();
  ASSERT_TRUE(shim.has_value()) << shim.error().message;
  pp_gpu_boot boot{};
  boot.nonce = 0x0123456789abcdef;
  boot.busy = 7;  // a field that is not ours
  shim.value().Fill(boot);
  EXPECT_EQ(shim.value().boot().busy, 0U);
  EXPECT_STREQ(shim.value().boot().arena_name, "ptrace-prof-arena.0123456789abcdef");
  const Result<GpuShimFile> again = GpuShimFile::Parse(shim.value().package().bytes);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again.value().boot().nonce, boot.nonce);
}

}  // namespace
}  // namespace ptrace_prof
