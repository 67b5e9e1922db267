#include "daemon/server/captures/capture_shelf.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/base/anonymous_file.h"
#include "daemon/trace/read/trace_meter.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kTrace = ".pftrace";
constexpr std::string_view kRecord = ".json";
constexpr std::string_view kUnfinished = ".new";
constexpr off_t kLongestRecord = 8 << 20;
constexpr size_t kReadAtOnce = 1 << 20;

std::string With(const std::string& id, std::string_view suffix) { return id + std::string(suffix); }

Result<std::string> ReadFile(int folder, const std::string& name) {
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat there {};
  if (!file.is_open() || ::fstat(file.get(), &there) != 0) {
    return ErrnoError(errno, "cannot read it");
  }
  if (!S_ISREG(there.st_mode)) {
    return Error{Code::kDataLoss, "it is not a regular file", ""};
  }
  if (there.st_size > kLongestRecord) {
    return Error{Code::kDataLoss, "it is too long", ""};
  }
  std::string text(static_cast<size_t>(there.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

// Returns 0 or the errno.
int WriteFile(int folder, const std::string& name, std::string_view text) {
  const UniqueFd file(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) {
    return errno;
  }
  while (!text.empty()) {
    const ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0 && errno != EINTR) {
      return errno;
    }
    text.remove_prefix(put < 0 ? 0 : static_cast<size_t>(put));
  }
  return 0;
}

void Measure(const TraceSpool& spool, TraceMeter& meter) {
  for (uint64_t offset = 0; offset < spool.size();) {
    const auto bytes = spool.ReadPackets(offset, kReadAtOnce);
    if (bytes.has_error() || bytes.value().empty() || meter.Feed(std::as_bytes(std::span(bytes.value()))).has_error()) {
      break;  // the packets before the damage count
    }
    offset += bytes.value().size();
  }
}

// Completes the record of a capture that was running when its daemon ended.
void Conclude(const TraceSpool& spool, Nanos last_written, CaptureRecord& record) {
  CaptureSnapshot& state = record.state;
  TraceMeter meter;
  Measure(spool, meter);
  state.totals = meter.Totals();
  state.notices = meter.notices();
  if (meter.request().has_value()) {
    state.mode = meter.request()->spec().mode();
    state.sampled_because = meter.request()->sampled_because();
  }
  state.trace_bytes = spool.size();
  state.started = spool.size() > 0 && state.started.value == 0 ? state.created : state.started;
  state.ended = last_written;
  const auto& end = meter.end();
  if (end.has_value() && (end->code == Code::kOk || (end->code == Code::kGone && meter.recorded_anything()))) {
    state.state = CaptureState::kSucceeded;
    state.end_message = end->message;
    return;
  }
  state.state = CaptureState::kFailed;
  state.error = end.has_value() ? ErrorOf(*end)
                                : Because(Reason::kDaemonRestarted,
                                          "ptrace-profd ended unexpectedly while this capture was running",
                                          "what was recorded until then is kept; the target is not affected");
  state.error->thing = state.error->thing.empty() ? "capture " + record.parameters.id : state.error->thing;
}

}  // namespace

Result<std::unique_ptr<CaptureShelf>> CaptureShelf::Open(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot use {} as the folder for traces", folder),
                      "choose another with --spool");
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? Error{Code::kAlreadyExists, fmt::format("another ptrace-profd keeps its traces in {}", folder),
                       "end that one, or choose another folder with --spool"}
               : ErrnoError(errno, fmt::format("cannot lock the folder for traces, {}", folder));
  }
  return std::unique_ptr<CaptureShelf>(new CaptureShelf(std::move(fd), folder));
}

std::vector<std::string> CaptureShelf::Ids(const std::function<void(const Error&)>& on_trouble) const {
  std::vector<std::string> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path_.c_str()), &::closedir);
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name.ends_with(kUnfinished)) {
      ::unlinkat(folder_.get(), name.c_str(), 0);
    } else if (name.ends_with(kRecord)) {
      ids.push_back(name.substr(0, name.size() - kRecord.size()));
    } else if (name.ends_with(kTrace)) {
      const std::string id = name.substr(0, name.size() - kTrace.size());
      struct stat there {};
      if (::fstatat(folder_.get(), With(id, kRecord).c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
        on_trouble(Error{Code::kDataLoss, fmt::format("the trace {}/{} has no record", path_, name),
                         "ptrace-profd cannot show it; move it away, or remove it"});
      }
    }
  }
  return ids;
}

Result<CaptureShelf::Found> CaptureShelf::TakeOne(const std::string& id,
                                                  const std::function<void(const Error&)>& on_trouble) {
  PP_ASSIGN_OR_RETURN(const std::string text, ReadFile(folder_.get(), With(id, kRecord)));
  PP_ASSIGN_OR_RETURN(CaptureRecord record, DecodeRecord(text));
  if (record.parameters.id != id) {
    return Error{Code::kDataLoss, "it belongs to another capture", ""};
  }
  const bool had_ended = HasEnded(record.state.state);
  PP_ASSIGN_OR_RETURN(auto spool,
                      TraceSpool::OpenNamed(path_, With(id, kTrace),
                                            had_ended ? std::optional(record.state.trace_bytes) : std::nullopt));
  if (!had_ended) {
    struct stat there {};
    ::fstatat(folder_.get(), With(id, kTrace).c_str(), &there, AT_SYMLINK_NOFOLLOW);
    Conclude(*spool, Nanos(int64_t{there.st_mtim.tv_sec} * 1'000'000'000 + there.st_mtim.tv_nsec), record);
  }
  record.parameters.spool_folder = path_;
  record.parameters.shelf = this;
  ids_.insert(id);
  if (auto written = had_ended ? Result<void>() : WriteLocked(record); written.has_error()) {
    on_trouble(written.error());  // the capture is restored all the same; the next start computes the same end
  }
  return Found{std::move(record), std::move(spool), !had_ended};
}

std::vector<CaptureShelf::Found> CaptureShelf::TakeStock(const std::function<void(const std::string& id)>& on_next,
                                                         const std::function<void(const Error&)>& on_trouble) {
  const std::lock_guard lock(mutex_);
  std::vector<Found> found;
  for (const std::string& id : Ids(on_trouble)) {
    on_next(id);
    auto one = TakeOne(id, on_trouble);
    if (one.has_error()) {
      Error error = std::move(one).error();
      error.message =
          fmt::format("capture {} of an earlier ptrace-profd in {} was not loaded: {}", id, path_, error.message);
      on_trouble(error);
    } else {
      found.push_back(std::move(one).value());
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.record.state.created.value < b.record.state.created.value; });
  return found;
}

Result<std::unique_ptr<TraceSpool>> CaptureShelf::Begin(const CaptureRecord& record) {
  const std::lock_guard lock(mutex_);
  const std::string& id = record.parameters.id;
  PP_ASSIGN_OR_RETURN(auto spool, TraceSpool::CreateNamed(path_, With(id, kTrace)));
  ids_.insert(id);
  if (auto written = WriteLocked(record); written.has_error()) {
    ids_.erase(id);
    ::unlinkat(folder_.get(), With(id, kTrace).c_str(), 0);
    return std::move(written).error();
  }
  return spool;
}

Result<void> CaptureShelf::Write(const CaptureRecord& record) {
  const std::lock_guard lock(mutex_);
  return WriteLocked(record);
}

Result<void> CaptureShelf::WriteLocked(const CaptureRecord& record) {
  const std::string& id = record.parameters.id;
  if (!ids_.contains(id)) {
    return {};
  }
  const std::string name = With(id, kRecord);
  const std::string unfinished = With(name, kUnfinished);
  int reason = WriteFile(folder_.get(), unfinished, EncodeRecord(record));
  if (reason == 0 && ::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) != 0) {
    reason = errno;
  }
  if (reason != 0) {
    ::unlinkat(folder_.get(), unfinished.c_str(), 0);
    return StorageError(reason, path_, fmt::format("cannot write the record of capture {}", id),
                        "free some space there");
  }
  return {};
}

Result<void> CaptureShelf::Remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!ids_.contains(id)) {
    return {};
  }
  for (const std::string& name : {With(id, kRecord), With(id, kTrace)}) {
    if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
      return StorageError(errno, path_, fmt::format("cannot remove {}", name), "remove it by hand");
    }
  }
  ids_.erase(id);
  return {};
}

}  // namespace ptrace_prof
