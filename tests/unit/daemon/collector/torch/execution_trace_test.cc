// A file that this process writes in place of PyTorch: copied, freed, and bounded.
#include "daemon/collector/torch/execution_trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/write/byte_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kNonce = 0x1234;
constexpr TorchArenaShape kShape{.rings = 1, .records = PP_TORCH_MIN_RING_RECORDS, .nonce = kNonce};
constexpr off_t kBlock = 512;

struct CopiedTrace : TraceVisitor {
  void OnExecutionTrace(Pid of, std::string_view piece) override {
    pid = of;
    bytes += piece.size();
    first = first.empty() ? std::string(piece.substr(0, 16)) : first;
  }
  void OnNotice(Nanos /*when*/, std::string_view text) override { notices += text; }

  Pid pid;
  uint64_t bytes = 0;
  std::string first;
  std::string notices;
};

// Reads what is written at once, so that it need not be kept.
class ReadingSink : public ByteSink {
 public:
  explicit ReadingSink(TraceReader& reader) : reader_(reader) {}
  Result<void> Write(std::span<const std::byte> bytes) override { return reader_.Feed(bytes); }

 private:
  TraceReader& reader_;
};

CaptureTask RequestOfSelf() {
  CaptureTask request;
  SetTarget(Pid(::getpid()), &request);
  return request;
}

class ExecutionTraceFile : public testing::Test {
 protected:
  ExecutionTraceFile() {
    EXPECT_EQ(::ftruncate(arena_file_.get(), static_cast<off_t>(kShape.size())), 0);
    EXPECT_EQ(::fcntl(arena_file_.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    head_ = static_cast<pp_torch_arena*>(
        ::mmap(nullptr, kShape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, arena_file_.get(), 0));
    head_->magic = PP_TORCH_MAGIC;
    head_->abi_version = PP_TORCH_ABI_VERSION;
    head_->ring_count = kShape.rings;
    head_->ring_records = kShape.records;
    head_->nonce = kNonce;
    head_->size = kShape.size();
    head_->state = PP_STATE_READY;
    head_->trace_state = PP_TORCH_TRACE_ON;
  }
  ~ExecutionTraceFile() override { ::munmap(head_, kShape.size()); }

  TorchArena Arena() { return std::move(TorchArena::Take(arena_file_, kShape)).value(); }
  void Grow(uint64_t bytes) { ASSERT_EQ(::ftruncate(file_.get(), static_cast<off_t>(bytes)), 0); }
  void Say(std::string_view text) {
    ASSERT_EQ(::write(file_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string Notices() {
    EXPECT_TRUE(writer_.Flush().has_value());
    return said_.notices;
  }

  UniqueFd arena_file_{::memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  UniqueFd file_{::memfd_create(ExecutionTraceName(kNonce).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  pp_torch_arena* head_ = nullptr;
  CopiedTrace said_;
  TraceReader reader_{said_};
  ReadingSink sink_{reader_};
  StackTable stacks_;
  TraceWriter writer_{sink_, stacks_, RequestOfSelf(), {}};
};

TEST_F(ExecutionTraceFile, IsCopiedWhileItGrowsAndFreed) {
  TorchArena arena = Arena();
  ExecutionTrace trace(Pid(::getpid()), kNonce, arena, writer_);
  ASSERT_TRUE(trace.IsOpen());
  Say(std::string(100'000, 'a'));
  trace.Poll();
  Say(std::string(200'000, 'b'));
  trace.Poll();
  struct stat info {};
  ASSERT_EQ(::fstat(file_.get(), &info), 0);
  EXPECT_LE(info.st_blocks * kBlock, 4096) << "of the last page a part may follow";
  Say("the end");
  head_->trace_state = PP_TORCH_TRACE_OVER;
  trace.Finish();
  EXPECT_EQ(Notices(), "");
  EXPECT_EQ(said_.bytes, 300'007u);
  EXPECT_EQ(said_.pid, Pid(::getpid()));
  EXPECT_EQ(said_.first, std::string(16, 'a'));
}

TEST_F(ExecutionTraceFile, EndsAtItsLimitAndCannotGrowWithoutEnd) {
  TorchArena arena = Arena();
  ExecutionTrace trace(Pid(::getpid()), kNonce, arena, writer_);
  Grow(kMostExecutionTrace - 1);
  trace.Poll();
  EXPECT_EQ(head_->trace_end, 0u);
  Grow(kMostExecutionTrace);
  trace.Poll();
  EXPECT_EQ(head_->trace_end, 1u);
  EXPECT_EQ(Notices(), "PyTorch's execution trace ends early: it has reached 256 MiB");
  Grow(2 * kMostExecutionTrace);  // it goes on all the same
  trace.Poll();
  EXPECT_FALSE(trace.IsOpen());
  EXPECT_EQ(::ftruncate(file_.get(), static_cast<off_t>(3 * kMostExecutionTrace)), -1);
  EXPECT_TRUE(writer_.Flush().has_value());
  EXPECT_EQ(said_.bytes, kMostExecutionTrace + kMostAtItsEnd);
}

TEST_F(ExecutionTraceFile, SaysWhyThereIsNone) {
  struct Row {
    uint32_t state;
    std::string_view notice;
  };
  constexpr Row kRows[] = {
      {PP_TORCH_TRACE_NONE, "this version has no observer"},
      {PP_TORCH_TRACE_IN_USE, "the process makes one of its own"},
      {PP_TORCH_TRACE_NO_FILE, "the process cannot make or open a file"},
      {PP_TORCH_TRACE_TAKEN, "the process has removed PyTorch's observer"},
  };
  TorchArena arena = Arena();
  for (const Row& row : kRows) {
    head_->trace_state = row.state;
    ExecutionTrace trace(Pid(::getpid()), kNonce, arena, writer_);
    EXPECT_FALSE(trace.IsOpen());
    trace.Finish();
    EXPECT_NE(Notices().find(row.notice), std::string::npos) << row.state;
  }
}

TEST_F(ExecutionTraceFile, SaysThatItsFileIsGone) {
  file_ = UniqueFd();
  TorchArena arena = Arena();
  ExecutionTrace trace(Pid(::getpid()), kNonce, arena, writer_);
  EXPECT_FALSE(trace.IsOpen());
  EXPECT_EQ(head_->trace_end, 1u);
  EXPECT_NE(Notices().find("the process has closed its file"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
