#include "attach/inject/left_texts.h"

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/run_call.h"
#include "attach/inject/text_thunk.h"
#include "attach/proc/call_queue_image.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kBehindThem = kTextBegin.substr(kWipedBytes);

struct LeftText {
  RemoteAddr begin;
  std::vector<uint8_t> bytes;
  bool operator==(const LeftText&) const = default;
};

void FindIn(RemoteMemory& memory, const MemoryTail& tail, std::vector<LeftText>& found) {
  std::vector<uint8_t> bytes(tail.size);
  if (memory.Read(tail.begin, bytes.data(), bytes.size()) != ReadStatus::kOk) {
    return;
  }
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = all.find(kBehindThem); at != std::string_view::npos; at = all.find(kBehindThem, at + 1)) {
    if (at < kWipedBytes) {
      continue;
    }
    const size_t begin = at - kWipedBytes;
    const size_t end = std::min(all.find('\0', at), all.size());
    found.push_back({tail.begin + begin, std::vector<uint8_t>(bytes.begin() + static_cast<ptrdiff_t>(begin),
                                                              bytes.begin() + static_cast<ptrdiff_t>(end))});
  }
}

// True if a waiting call may still use the text, directly or through the context that lets its exceptions propagate.
bool IsWanted(const LeftText& text, RemoteMemory& memory, const CallQueueImage& waiting, const CallQueue& queue) {
  for (uint32_t slot = 0; slot < queue.slots; ++slot) {
    if (!waiting.Waits(slot)) {
      continue;
    }
    const RemoteAddr argument = waiting.At(slot).argument;
    uint64_t passing = 0;
    if (argument == text.begin ||
        (memory.ReadValue(argument + offsetof(TextThunkContext, text), &passing) == ReadStatus::kOk &&
         passing == text.begin.value)) {
      return true;
    }
  }
  return false;
}

Result<bool> IsHooked(const InjectionTarget& target, RemoteMemory& memory) {
  if (!target.frame_hook || target.frame_hook->slot.IsNull()) {
    return false;
  }
  uint64_t now = 0;
  if (memory.ReadValue(target.frame_hook->slot, &now) != ReadStatus::kOk) {
    return Error{Code::kGone, "the target has become another program", ""};
  }
  return now != 0 && now != target.frame_hook->function.value;
}

Result<std::vector<LeftText>> FindUnwanted(const InjectionTarget& target, RemoteMemory& memory) {
  std::vector<LeftText> found;
  PP_ASSIGN_OR_RETURN(const bool hooked, IsHooked(target, memory));
  if (hooked) {
    return found;
  }
  for (const MemoryTail& tail : target.tails) {
    FindIn(memory, tail, found);
  }
  if (found.empty()) {
    return found;
  }
  PP_ASSIGN_OR_RETURN(const CallQueueImage waiting, CallQueueImage::Read(memory, target.queue));
  std::erase_if(found, [&](const LeftText& text) { return IsWanted(text, memory, waiting, target.queue); });
  return found;
}

}  // namespace

Result<size_t> ReclaimLeftTexts(const InjectionTarget& target, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(const std::vector<LeftText> before, FindUnwanted(target, memory));
  if (before.empty()) {
    return size_t{0};
  }
  const timespec reading{kReadingTime.value / 1'000'000'000, kReadingTime.value % 1'000'000'000};
  ::nanosleep(&reading, nullptr);
  PP_ASSIGN_OR_RETURN(const std::vector<LeftText> after, FindUnwanted(target, memory));
  RemoteWriter writer(target.pid);
  size_t reclaimed = 0;
  for (const LeftText& text : after) {
    if (std::ranges::find(before, text) == before.end()) {
      continue;  // another collector is working on it
    }
    PP_RETURN_IF_ERROR(writer.Write(text.begin, std::vector<uint8_t>(text.bytes.size())));
    ++reclaimed;
  }
  return reclaimed;
}

}  // namespace ptrace_prof
