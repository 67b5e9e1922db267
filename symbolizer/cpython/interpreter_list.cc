#include "symbolizer/cpython/interpreter_list.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxInterpreters = 1024;
constexpr size_t kMaxThreads = 65536;
constexpr int kBeginnings = 8;  // restarts of a walk, if threads start all the time

uint64_t LoadWord(std::span<const std::byte> block, uint32_t offset) {
  uint64_t value = 0;
  if (offset != kAbsent && offset + sizeof value <= block.size()) {
    std::memcpy(&value, block.data() + offset, sizeof value);
  }
  return value;
}

ReadStatus FindGil(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime, InterpreterEntry* entry) {
  if (layout.Has(&Layout::runtime_gil)) {
    entry->gil = runtime + layout.runtime_gil;
    return ReadStatus::kOk;
  }
  if (!layout.Has(&Layout::interp_gil_pointer)) {
    return ReadStatus::kOk;
  }
  uint64_t gil = 0;
  const ReadStatus status = memory.ReadValue(entry->address + layout.interp_gil_pointer, &gil);
  if (status == ReadStatus::kOk && IsPlausibleAddress(gil)) {
    entry->gil = RemoteAddr(gil);
  }
  return status;
}

constexpr uint64_t kStateBytes = 4096;  // larger than any thread state

bool HasFrames(const Layout& layout, uint64_t state, const std::vector<std::byte>& block) {
  if (layout.Has(&Layout::thread_frame)) {
    return LoadWord(block, layout.thread_frame) != 0;
  }
  // Outside of all evaluations it points to the one inside the thread state.
  return LoadWord(block, layout.thread_cframe) - state >= kStateBytes;
}

}  // namespace

ReadStatus ReadInterpreters(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime,
                            std::vector<InterpreterEntry>* out) {
  out->clear();
  uint64_t at = 0;
  ReadStatus status = memory.ReadValue(runtime + layout.runtime_interpreters_head, &at);
  while (status == ReadStatus::kOk && IsPlausibleAddress(at) && out->size() < kMaxInterpreters) {
    InterpreterEntry entry;
    entry.address = RemoteAddr(at);
    uint64_t next = 0;
    status = memory.ReadValue(entry.address + layout.interp_next, &next);
    if (status == ReadStatus::kOk) {
      status = memory.ReadValue(entry.address + layout.interp_id, &entry.id);
    }
    if (status == ReadStatus::kOk) {
      status = FindGil(memory, layout, runtime, &entry);
    }
    if (status != ReadStatus::kOk) {
      break;
    }
    out->push_back(entry);
    at = next == at ? 0 : next;
  }
  return out->empty() ? (status == ReadStatus::kOk ? ReadStatus::kFault : status) : ReadStatus::kOk;
}

bool IsGilOff(RemoteMemory& memory, const Layout& layout, RemoteAddr gil) {
  int32_t enabled = kGilForGood;
  return layout.Has(&Layout::gil_enabled) && !gil.IsNull() &&
         memory.ReadValue(gil + layout.gil_enabled, &enabled) == ReadStatus::kOk && enabled != kGilForGood;
}

ReadStatus ReadThreads(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                       std::vector<ThreadEntry>* out, bool* complete, ThreadList list) {
  *complete = true;
  uint64_t at = 0;
  uint64_t newer = 0;
  int beginnings = 0;
  ReadStatus status = memory.ReadValue(interpreter + layout.interp_threads_head, &at);
  if (status != ReadStatus::kOk) {
    return status;
  }
  std::vector<std::byte> block(layout.thread_size);
  for (size_t count = 0; at != 0; ++count) {
    if (!IsPlausibleAddress(at) || count >= kMaxThreads) {
      *complete = false;
      break;
    }
    status = memory.Read(RemoteAddr(at), block.data(), block.size());
    if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
      return status;
    }
    if (status != ReadStatus::kOk || LoadWord(block, layout.thread_interp) != interpreter.value) {
      *complete = false;
      break;
    }
    if (list == ThreadList::kMayChange && layout.Has(&Layout::thread_prev) &&
        LoadWord(block, layout.thread_prev) != newer) {
      if (newer == 0 && ++beginnings < kBeginnings &&
          memory.ReadValue(interpreter + layout.interp_threads_head, &at) == ReadStatus::kOk) {
        continue;  // a new thread state was inserted before it
      }
      *complete = false;  // it was freed, and may belong to another interpreter now
      break;
    }
    ThreadEntry entry;
    entry.state = RemoteAddr(at);
    entry.ident = LoadWord(block, layout.thread_id);
    entry.native_id = LoadWord(block, layout.thread_native_id);
    entry.has_frames = HasFrames(layout, at, block);
    out->push_back(entry);
    newer = at;
    const uint64_t next = LoadWord(block, layout.thread_next);
    at = next == at ? 0 : next;
  }
  return ReadStatus::kOk;
}

bool AreStillThreads(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                     const std::vector<ThreadEntry>& newest_first) {
  if (newest_first.empty()) {
    return false;
  }
  const uint32_t size = layout.thread_size;
  std::vector<std::byte> blocks(newest_first.size() * size);
  uint64_t head = 0;
  std::vector<ReadRequest> batch = {{interpreter + layout.interp_threads_head, &head, sizeof head}};
  for (size_t i = 0; i < newest_first.size(); ++i) {
    batch.push_back({newest_first[i].state, &blocks[i * size], size});
  }
  size_t filled = 0;
  if (memory.ReadBatch(batch, &filled) != ReadStatus::kOk || head != newest_first.front().state.value) {
    return false;
  }
  for (size_t i = 0; i < newest_first.size(); ++i) {
    const ThreadEntry& entry = newest_first[i];
    const std::span<const std::byte> block(&blocks[i * size], size);
    const uint64_t next = LoadWord(block, layout.thread_next);
    const bool is_last = i + 1 == newest_first.size();
    const bool is_linked = is_last ? next == 0 || next == entry.state.value : next == newest_first[i + 1].state.value;
    if (!is_linked || LoadWord(block, layout.thread_interp) != interpreter.value ||
        LoadWord(block, layout.thread_id) != entry.ident ||
        LoadWord(block, layout.thread_native_id) != entry.native_id) {
      return false;
    }
  }
  return true;
}

std::optional<RemoteAddr> FindMainInterpreter(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime) {
  std::vector<InterpreterEntry> interpreters;
  if (ReadInterpreters(memory, layout, runtime, &interpreters) != ReadStatus::kOk) {
    return std::nullopt;
  }
  const auto main = std::ranges::find(interpreters, kMainInterpreter, &InterpreterEntry::id);
  return main == interpreters.end() ? std::nullopt : std::optional(main->address);
}

}  // namespace ptrace_prof
