#include "attach/inject/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "attach/inject/failure_text.h"
#include "attach/inject/sealed_memory.h"
#include "attach/inject/shared_word.h"

namespace ptrace_prof {
namespace {

// Checks everything that makes the file safe to map and to access.
Result<void> CheckFile(const UniqueFd& file, const ChannelShape& shape) {
  if (shape.rings < 1 || shape.rings > PP_MAX_RINGS || !std::has_single_bit(shape.records) ||
      shape.records < PP_MIN_RING_RECORDS || shape.records > PP_MAX_RING_RECORDS) {
    return Error{Code::kInvalidArgument, "a channel cannot have that many rings or records", ""};
  }
  return CheckSealedMemory(file, shape.size());
}

constexpr FailureText kTracerFailures[] = {
    {PP_ERROR_PROFILER_PRESENT, Reason::kForeignProfiler,
     "the target already has a profiler or debugger, and CPython has room for only one",
     "Stop it there (sys.setprofile, cProfile, coverage, a sys.monitoring tool), or sample instead."},
    {PP_ERROR_PYTHON_CALL, Reason::kInternal, "a call into the target's interpreter failed", ""},
    {PP_ERROR_NO_MEMORY, Reason::kOutOfResources, "the target could not allocate the shared memory",
     "Use a smaller --buffer, or check the memory limit of its container."},
    {PP_ERROR_NO_WIPE_ON_FORK, Reason::kKernelTooOld, "the kernel cannot hide memory from forked children",
     "Tracing needs Linux 4.14 or later; sampling does not."},
    {PP_ERROR_TARGET_PID, Reason::kTracerNotLoaded, "the tracer was loaded into a forked child instead of the target",
     "Try again."},
    {PP_ERROR_BUSY, Reason::kBeingTraced, "another capture is tracing this process", "Wait for it to end."},
    {PP_ERROR_SYSTEM_CALL, Reason::kInternal, "a system call failed in the target", ""},
    {PP_ERROR_BOOT, Reason::kInternal, "the stub in the target received an invalid configuration", ""},
};

#define PP_STEP_WORDS(name, words) words,
constexpr std::string_view kTracerSteps[] = {PP_FOR_EACH_STEP(PP_STEP_WORDS)};
#undef PP_STEP_WORDS

}  // namespace

void Channel::Unmapper::operator()(uint8_t* begin) const { ::munmap(begin, size); }

Channel::Channel(uint8_t* begin, const ChannelShape& shape)
    : memory_(begin, Unmapper{shape.size()}),
      shape_(shape),
      freed_code_(reinterpret_cast<pp_channel*>(begin),
                  reinterpret_cast<pp_freed*>(begin + PP_FREED_OFFSET(shape.rings, uint64_t{shape.records}))) {
  rings_.reserve(shape.rings);
  for (uint32_t i = 0; i < shape.rings; ++i) {
    rings_.emplace_back(reinterpret_cast<pp_ring*>(begin + PP_RING_OFFSET(i)),
                        reinterpret_cast<const pp_record*>(begin + PP_RECORDS_OFFSET(shape.rings, shape.records, i)),
                        shape.records);
  }
}

Result<Channel> Channel::Take(const UniqueFd& file, const ChannelShape& shape) {
  PP_RETURN_IF_ERROR(CheckFile(file, shape));
  void* begin = ::mmap(nullptr, shape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) {
    return ErrnoError(errno, "cannot map the memory that is shared with the target", "Use a smaller --buffer.");
  }
  Channel channel(static_cast<uint8_t*>(begin), shape);
  PP_RETURN_IF_ERROR(channel.ReadHead());
  return channel;
}

void Channel::TouchAll() {
  if (::madvise(memory_.get(), shape_.size(), MADV_POPULATE_WRITE) == 0) {
    return;
  }
  for (size_t at = 0; at < shape_.size(); at += PP_PAGE) {  // for kernels before 5.14
    Load(*reinterpret_cast<uint32_t*>(memory_.get() + at));
  }
}

Result<void> Channel::ReadHead() {
  switch (state()) {
    case ChannelState::kNone: return Error{Code::kUnavailable, "the stub is not ready yet", ""};
    case ChannelState::kFailed: return Reason();
    case ChannelState::kReady:
    case ChannelState::kLeft: break;
  }
  pp_channel said;
  std::memcpy(&said, &head(), sizeof said);
  if (said.magic != PP_CHANNEL_MAGIC || said.abi_version != PP_ABI_VERSION) {
    return NotTheSharedMemory("its header is wrong");
  }
  if (said.nonce != shape_.nonce || said.ring_count != shape_.rings || said.ring_records != shape_.records ||
      said.size != shape_.size()) {
    return NotTheSharedMemory("it belongs to another capture");
  }
  private_page_ = RemoteAddr(said.private_page);
  leave_entry_ = RemoteAddr(said.leave_entry);
  tool_id_ = said.tool_id;
  return {};
}

ChannelState Channel::state() const {
  const uint32_t state = Load(head().state);
  return state <= PP_STATE_FAILED ? static_cast<ChannelState>(state) : ChannelState::kNone;
}

Error StubFailure(uint32_t error, uint32_t step, int32_t number) {
  std::string where = step > 0 && step < std::size(kTracerSteps) ? fmt::format(", {}", kTracerSteps[step]) : "";
  where += number != 0 ? fmt::format(": {}", std::strerror(number)) : "";
  if (const FailureText* failure = FindFailureText(kTracerFailures, error)) {
    return Because(failure->reason, fmt::format("{}{}", failure->message, where), std::string(failure->remedy));
  }
  return WrittenOver(fmt::format("the stub failed with the unknown error {}{}", error, where));
}

Error Channel::Reason() const {
  const uint32_t error = Load(head().error);
  if (error != PP_ERROR_NONE) {
    return StubFailure(error, Load(head().error_step), Load(head().error_number));
  }
  if (state() == ChannelState::kLeft) {
    if (Load(head().leave_cause) == PP_LEAVE_LEASE) {
      return Because(Reason::kTracerLost,
                     "the tracer in the target ended because ptrace-prof did not renew its lease in time",
                     "ptrace-prof got too little CPU; try again when the machine is less busy.");
    }
    return WrittenOver("the tracer in the target ended, although this capture did not request it");
  }
  return {Code::kOk, "", ""};
}

RemoteAddr Channel::own_text() const { return RemoteAddr(Load(head().own_text)); }

void Channel::RenewLease(uint64_t until) { Store(head().lease, until); }

void Channel::AskToLeave() { Store(head().leave, uint64_t{1}); }

void Channel::AskToLeave(const UniqueFd& file) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat info {};
  if (seals < 0 || (seals & kSealsNeeded) != kSealsNeeded || ::fstat(file.get(), &info) != 0 ||
      info.st_size < static_cast<off_t>(sizeof(pp_channel))) {
    return;
  }
  void* begin = ::mmap(nullptr, sizeof(pp_channel), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) {
    return;
  }
  auto& channel = *static_cast<pp_channel*>(begin);
  if (channel.magic == PP_CHANNEL_MAGIC && channel.abi_version == PP_ABI_VERSION) {
    Store(channel.leave, uint64_t{1});
  }
  ::munmap(begin, sizeof(pp_channel));
}

void Channel::WantSelf(size_t index, RemoteAddr code) {
  if (index < std::size(head().self_code)) {
    Store(head().self_code[index], code.value);
  }
}

bool Channel::Mute(RemoteAddr code, const CodeFields& fields, MutedEvents events) {
  if (!shape_.mutes || code.IsNull()) {
    return false;
  }
  const uint64_t check = PP_MUTE_CHECK(fields.name, fields.filename, static_cast<int64_t>(fields.first_line)) |
                         (events == MutedEvents::kBegins ? uint64_t{PP_MUTE_BEGINS} : 0);
  auto* table = reinterpret_cast<pp_mute*>(memory_.get() + PP_MUTES_OFFSET(shape_.rings, uint64_t{shape_.records}));
  const uint64_t place = PP_MUTE_HASH(code.value);
  for (uint64_t i = 0; i < PP_MUTE_PROBES; ++i) {
    pp_mute& entry = table[(place + i) & (PP_MUTE_ENTRIES - 1)];
    const uint64_t tenant = Load(entry.code);
    if (tenant == code.value) {
      Store(entry.check, check);
      return true;
    }
    if (tenant == 0) {
      if (muted_ >= PP_MAX_MUTES) {
        return false;
      }
      ++muted_;
      Store(entry.check, check);
      Store(entry.code, code.value);
      return true;
    }
  }
  return false;
}

EventTicks Channel::event_ticks() const {
  const auto each = [](pp_cost& cost) {
    const uint64_t events = Load(cost.events);
    return events == 0 ? 0.0 : static_cast<double>(Load(cost.time)) / static_cast<double>(events);
  };
  return {each(head().frame_cost), each(head().call_cost)};
}

uint64_t Channel::events_without_ring() const { return Load(head().events_without_ring); }

uint32_t Channel::hooks_displaced() const { return Load(head().hooks_displaced); }

Result<void> Channel::Arm(RemoteMemory& memory, RemoteWriter& writer) {
  PP_RETURN_IF_ERROR(SetArmedIn(private_page_, memory, writer, true));
  for (RingReader& ring : rings_) {
    ring.SettlePending();
  }
  return {};
}

Result<void> Channel::Disarm(RemoteMemory& memory, RemoteWriter& writer) {
  return SetArmedIn(private_page_, memory, writer, false);
}

Result<void> SetArmedIn(RemoteAddr private_page, RemoteMemory& memory, RemoteWriter& writer, bool armed) {
  uint64_t magic = 0;
  const ReadStatus status = memory.ReadValue(private_page, &magic);
  if (status == ReadStatus::kGone) {
    return ErrnoError(ESRCH, "cannot write into the target");
  }
  if (status != ReadStatus::kOk || magic != PP_PRIVATE_MAGIC) {
    return NotTheSharedMemory("its private page was not found");
  }
  return writer.WriteValue(private_page + offsetof(pp_private, armed), uint64_t{armed});
}

}  // namespace ptrace_prof
