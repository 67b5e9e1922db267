#include "attach/inject/delivery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/file_lock.h"
#include "attach/inject/stub_image.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kRemindEvery = Nanos::FromMillis(5);
constexpr int64_t kShortestPause = 20'000;
constexpr int64_t kLongestPause = 1'000'000;
constexpr size_t kMaxStrays = 8;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
// So long a text that was taken may go without its effect.
constexpr Nanos kEffectTime = Nanos::FromSeconds(10);

Error NotTaken(const InjectionTarget& target) {
  const int32_t pid = target.pid.value;
  if (target.main_thread_only) {
    return {Code::kDeadlineExceeded,
            fmt::format("the main thread of process {} runs no Python code just now, and in this version of CPython no "
                        "other thread can let us in",
                        pid),
            "Try again when its main thread works, or sample instead."};
  }
  return {Code::kDeadlineExceeded,
          fmt::format("no thread of process {} has come to run Python code: all of them wait, or are in long calls of "
                      "C code",
                      pid),
          "Give it more time, try again when it works, or sample instead."};
}

Error NoEffect(Pid pid) {
  return {Code::kFailedPrecondition,
          fmt::format("process {} ran what was to load the tracer, but it did not come up: its Python may have no "
                      "os.memfd_create, be out of descriptors, or be kept from loading code",
                      pid.value),
          "Sample it instead (record without --mode trace)."};
}

void Pause(int64_t nanos) {
  const timespec pause{0, nanos};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

Result<void> AwaitEffect(const InjectionTarget& target, RunningText& text, const Patience& patience,
                         const std::function<Result<bool>()>& seen) {
  Nanos remind_at = MonotonicNow() + kRemindEvery;
  Nanos taken_at;
  for (int64_t pause = kShortestPause;; pause = std::min(pause * 5 / 4, kLongestPause)) {
    PP_ASSIGN_OR_RETURN(const bool there, seen());
    if (there) {
      text.Finish();
      return {};
    }
    PP_ASSIGN_OR_RETURN(const bool taken, text.Taken());
    const Nanos now = MonotonicNow();
    if (taken && taken_at.value == 0) {
      taken_at = now;
    }
    if (taken && now > taken_at + kEffectTime) {
      return NoEffect(target.pid);
    }
    if (!taken && now > patience.deadline) {
      return NotTaken(target);
    }
    if (patience.go_on && !patience.go_on()) {
      return Error{Code::kCancelled, "the capture was ended before its target let us in", ""};
    }
    if (!taken && now > remind_at) {
      PP_RETURN_IF_ERROR(text.Remind());
      remind_at = now + kRemindEvery;
    }
    Pause(pause);
  }
}

Result<void> Delivery::Run(const InjectionStrategy& strategy, const std::function<Result<bool>()>& seen) {
  PP_ASSIGN_OR_RETURN(const TargetFile file, MakeFile(strategy));
  PP_ASSIGN_OR_RETURN(const UniqueFd held, FillFile(file));  // with its lock, until it is loaded
  // Of two that began at once at least one sees the other now.
  PP_ASSIGN_OR_RETURN(std::vector<int32_t> strays, FindStrays(target_.pid, files_, kStubFilePrefix, file.number));
  strays.resize(std::min(strays.size(), kMaxStrays));
  const LoadRequest request{target_.own_pid,
                            file.name,
                            file.number,
                            std::move(strays),
                            kStubFilePrefix,
                            kStubModule,
                            static_cast<uint16_t>(image_.boot().nonce)};
  return RunText(strategy, LoadText(request), seen);
}

Result<void> Delivery::RunText(const InjectionStrategy& strategy, std::string_view text,
                               const std::function<Result<bool>()>& seen) {
  PP_ASSIGN_OR_RETURN(const std::unique_ptr<RunningText> running,
                      strategy.perform(target_, memory_, text, patience_.deadline));
  Result<void> effect = AwaitEffect(target_, *running, patience_, seen);
  cost_.Add(running->cost());
  return effect;
}

Result<TargetFile> Delivery::MakeFile(const InjectionStrategy& strategy) {
  const std::string name = StubFileName(image_.boot().nonce);
  TargetFile file;
  int looks = 0;
  PP_RETURN_IF_ERROR(
      RunText(strategy, MakeFileText({target_.own_pid, name, image_.bytes().size(), target_.memfd_create}),
              [&]() -> Result<bool> {
                constexpr int kAllEvery = 16;  // its number may be that of a file that was closed meanwhile
                PP_ASSIGN_OR_RETURN(std::vector<TargetFile> found, files_.FindMemfds(name, ++looks % kAllEvery == 0));
                if (found.empty()) {
                  return false;
                }
                file = std::move(found.front());
                const Result<UniqueFd> taken = files_.Take(file);
                struct stat info {};
                return taken.has_value() && ::fstat(taken.value().get(), &info) == 0 &&
                       static_cast<uint64_t>(info.st_size) == image_.bytes().size();
              }));
  return file;
}

Result<UniqueFd> Delivery::FillFile(const TargetFile& file) const {
  PP_ASSIGN_OR_RETURN(UniqueFd fd, files_.Take(file));
  PP_RETURN_IF_ERROR(LockFile(target_.pid, fd));
  struct stat info {};
  // Once it cannot shrink, no access of ours can fault.
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) != image_.bytes().size()) {
    return Error{Code::kDataLoss, "what the target opened for us is not the file that was asked for", ""};
  }
  void* memory = ::mmap(nullptr, image_.bytes().size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return ErrnoError(errno, "cannot fill the file that the target opened for us");
  }
  std::memcpy(memory, image_.bytes().data(), image_.bytes().size());
  ::munmap(memory, image_.bytes().size());
  return fd;
}

}  // namespace ptrace_prof
