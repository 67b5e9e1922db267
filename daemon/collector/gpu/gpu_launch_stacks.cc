#include "daemon/collector/gpu/gpu_launch_stacks.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

// Bounds, as a target may invent launches.
constexpr size_t kMaxLaunches = size_t{1} << 18;
constexpr size_t kMaxStacks = size_t{1} << 16;
constexpr size_t kMaxCodes = size_t{1} << 18;
constexpr uint64_t kSameCall = 1'000'000'000;  // ns between the two times of one call: its thread may have waited

// Hostile numbers wrap around.
uint64_t Between(Nanos a, Nanos b) {
  const auto [less, more] = std::minmax(a, b);
  return static_cast<uint64_t>(more.value) - static_cast<uint64_t>(less.value);
}

// The identity as the shim computes it (PP_GPU_CODE_IDENTITY), from the cache's fingerprint.
uint64_t IdentityOf(const CodeInfo& code) {
  const auto& [type, file, name, other, first_line] = code.fingerprint;
  return PP_GPU_CODE_IDENTITY(file, name, other, static_cast<int64_t>(first_line));
}

}  // namespace

GpuLaunchStacks::GpuLaunchStacks(RemoteMemory& memory, const PythonProcess& python, StackTable& stacks)
    : stacks_(stacks), codes_(memory, python.layout, python.code_type) {}

void GpuLaunchStacks::Take(GpuLaunchArea& area) {
  area.Drain([&](const GpuLaunchNote& note) {
    if (!known_.contains(note.stack)) {
      Learn(note.stack, area);
    }
    if (order_.size() >= kMaxLaunches) {
      ForgetFirst();
    }
    launches_[note.correlation] = {note.when, note.stack};
    order_.emplace_back(note.when, note.correlation);
  });
}

// Stacks keep this result for as long as the arena exists.
void GpuLaunchStacks::Learn(uint32_t stack, const GpuLaunchArea& area) {
  if (known_.size() >= kMaxStacks) {
    return;
  }
  KnownStack& learned = known_[stack];
  const std::optional<GpuLaunchStack> reported = area.ReadStack(stack);
  if (!reported) {
    return;
  }
  learned.is_deeper = reported->is_deeper;
  for (auto frame = reported->frames.rbegin(); frame != reported->frames.rend(); ++frame) {
    const CodeId code = CodeOf(*frame);
    const auto at = code == kNoCode ? std::nullopt : codes_.Locate(code, frame->instruction);
    if (!at.has_value()) {
      learned.is_cut = true;
      return;
    }
    learned.frames.push_back({code, *at});
  }
}

// After a new object was read, checks again that it is unchanged. Then it was unchanged all the time, and so were its
// names, which it references.
CodeId GpuLaunchStacks::CodeOf(const pp_gpu_frame& frame) {
  CodeId code = codes_.Find(frame.code);
  if (code != kNoCode && IdentityOf(codes_.info(code)) == frame.identity) {
    return code;
  }
  code = codes_.size() < kMaxCodes ? codes_.Read(frame.code) : kNoCode;
  if (code == kNoCode || IdentityOf(codes_.info(code)) != frame.identity) {
    return kNoCode;
  }
  std::vector<CodeId> stale;
  const bool is_still = codes_.Revalidate({code}, &stale) == ReadStatus::kOk && stale.empty();
  return is_still ? code : kNoCode;
}

StackId GpuLaunchStacks::Intern(const KnownStack& stack) {
  const auto with_marker = [&](StackId below) {
    const Frame marker{.function = std::string(kTruncatedMarker), .kind = FrameKind::kMarker};
    return stacks_.InternStack(below, stacks_.InternFrame(marker));
  };
  StackId id = stack.is_deeper && !stack.frames.empty() ? with_marker(kEmptyStack) : kEmptyStack;
  for (const KnownFrame& frame : stack.frames) {
    const CodeInfo& info = codes_.info(frame.code);
    if (info.is_internal) {
      continue;  // its time counts for its caller
    }
    const SourcePosition position = codes_.Position(frame.code, frame.instruction);
    id = stacks_.InternStack(
        id, stacks_.InternFrame(
                {.function = info.function, .file = info.file, .line = position.line, .first_line = info.first_line}));
  }
  return stack.is_cut && !stack.frames.empty() ? with_marker(id) : id;
}

std::optional<StackId> GpuLaunchStacks::Of(uint32_t correlation, Nanos begin) {
  const auto launch = launches_.find(correlation);
  if (launch == launches_.end() || Between(launch->second.when, begin) > kSameCall) {
    return std::nullopt;
  }
  const auto known = known_.find(launch->second.stack);
  if (known == known_.end() || known->second.frames.empty()) {
    return std::nullopt;
  }
  KnownStack& stack = known->second;
  if (stack.generation != stacks_.generation()) {
    stack.id = Intern(stack);
    stack.generation = stacks_.generation();
  }
  return stack.id;
}

void GpuLaunchStacks::ForgetFirst() {
  const auto [when, correlation] = order_.front();
  order_.pop_front();
  const auto launch = launches_.find(correlation);
  if (launch != launches_.end() && launch->second.when == when) {
    launches_.erase(launch);
  }
}

void GpuLaunchStacks::Forget(Nanos older) {
  while (!order_.empty() && order_.front().first < older) {
    ForgetFirst();
  }
}

}  // namespace ptrace_prof
