// Interpreter lists, thread lists, frame chains and code objects over memory that is invalid and changes.
#include <cstdlib>

#include "symbolizer/cpython/code_cache.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/native_tid.h"
#include "symbolizer/cpython/thread_stack.h"
#include "tests/fuzz/fake_layouts.h"
#include "tests/fuzz/fake_world.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kMaxDepth = 300;
constexpr size_t kMaxListed = 100'000;  // more than any process has; a list that long is a loop

void ReadStack(RemoteMemory& memory, const Layout& layout, RemoteAddr state, RemoteAddr interpreter, CodeCache& codes) {
  ThreadStack stack(layout, state, interpreter, kMaxDepth);
  std::vector<CodeId> used;
  for (int sample = 0; sample < 3; ++sample) {
    std::vector<ReadRequest> batch;
    stack.AppendRequests(&batch);
    size_t filled = 0;
    const bool fresh = memory.ReadBatch(batch, &filled) == ReadStatus::kOk;
    stack.Collect(memory, fresh);
    stack.ReadAgain(memory);
    if (stack.frames().size() > kMaxDepth) {
      std::abort();
    }
    for (const RawFrame& frame : stack.frames()) {
      CodeId id = codes.Find(frame.code);
      if (id == kNoCode) {
        id = codes.Read(frame.code);
      }
      if (id != kNoCode && used.size() < 64) {
        codes.Position(id, codes.Locate(id, frame.instruction).value_or(frame.instruction));
        used.push_back(id);
      }
    }
  }
  std::vector<CodeId> stale;
  if (codes.Revalidate(used, &stale) == ReadStatus::kOk && stale.size() > used.size()) {
    std::abort();
  }
}

void ReadEverything(RemoteMemory& memory, const Layout& layout) {
  std::vector<InterpreterEntry> interpreters;
  (void)ReadInterpreters(memory, layout, FakeWorld::runtime(), &interpreters);
  std::vector<ThreadEntry> threads;
  for (const InterpreterEntry& interpreter : interpreters) {
    bool complete = false;
    (void)ReadThreads(memory, layout, interpreter.address, &threads, &complete);
  }
  if (interpreters.size() > kMaxListed || threads.size() > kMaxListed) {
    std::abort();
  }
  CodeCache codes(memory, layout, RemoteAddr(0));
  NativeTidFinder tids(memory, (FakeWorld::runtime() + 94208).value, Pid(77));
  for (uint64_t i = 0; i < FakeWorld::kThreads; ++i) {
    ReadStack(memory, layout, FakeWorld::Thread(i), FakeWorld::Interpreter(i / 2), codes);
  }
  for (size_t i = 0; i < std::min<size_t>(threads.size(), 8); ++i) {
    tids.Find(threads[i].ident);
  }
}

bool ReadsAHealthyWorld(RemoteMemory& memory, const Layout& layout) {
  ThreadStack stack(layout, FakeWorld::Thread(0), FakeWorld::Interpreter(0), kMaxDepth);
  CodeCache codes(memory, layout, RemoteAddr(0));
  return stack.ReadAgain(memory) == CollectStatus::kWhole && stack.frames().size() >= 15 &&
         codes.Read(FakeWorld::CodeObject(0).value) != kNoCode;
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<ptrace_prof::Layout> layouts = ptrace_prof::AllLayouts();
  if (size == 0) {
    return 0;
  }
  const ptrace_prof::Layout& layout = layouts[data[0] % layouts.size()];
  ptrace_prof::FakeMemory memory;
  ptrace_prof::FakeWorld world(layout, memory);
  if (size == 1 && !ptrace_prof::ReadsAHealthyWorld(memory, layout)) {
    std::abort();  // the fuzzer would test nothing
  }
  world.ApplyPatches({data + 1, size - 1});
  memory.DisturbFrom(data[size - 1] % 4 == 0 ? 0 : data[size - 1]);
  ptrace_prof::ReadEverything(memory, layout);
  return 0;
}
