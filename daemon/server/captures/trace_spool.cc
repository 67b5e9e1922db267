#include "daemon/server/captures/trace_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/base/anonymous_file.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kLandmarkEvery = 64 * 1024;
constexpr size_t kMaxHeader = 11;
constexpr uint64_t kScanAtOnce = 1 << 20;

// Returns the size of the first packet with its header, or 0 if `bytes` does not begin with a packet.
uint64_t MeasurePacket(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != 0x0a) {
    return 0;
  }
  std::string_view rest = bytes.substr(1);
  uint64_t size = 0;
  if (!WireDecoder::ReadVarint(rest, size) || size > PacketFramer::kMaxPacket) {
    return 0;
  }
  return bytes.size() - rest.size() + size;
}

Error BadOffset(uint64_t offset, std::string_view what) {
  return Because(Reason::kBadOffset, fmt::format("offset {} of the trace {}", offset, what),
                 "resume at the end of a completely received chunk");
}

}  // namespace

Result<std::unique_ptr<TraceSpool>> TraceSpool::Create(const std::string& folder) {
  PP_ASSIGN_OR_RETURN(UniqueFd fd, OpenAnonymousFile(folder));
  return std::unique_ptr<TraceSpool>(new TraceSpool(std::move(fd), folder));
}

Result<std::unique_ptr<TraceSpool>> TraceSpool::CreateNamed(const std::string& folder, const std::string& name) {
  std::string path = folder + "/" + name;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) {
    return StorageError(errno, folder, "cannot make a file for the trace", "free some space there");
  }
  return std::unique_ptr<TraceSpool>(new TraceSpool(std::move(fd), folder, std::move(path)));
}

Result<UniqueFd> TraceSpool::OpenToRead(const std::string& path, const std::string& folder) {
  const std::string name = path.substr(path.rfind('/') + 1);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat there {};
  if (!fd.is_open() || ::fstat(fd.get(), &there) != 0) {
    return StorageError(errno, folder, "cannot read the trace " + name, "");
  }
  if (!S_ISREG(there.st_mode)) {
    return Error{Code::kDataLoss, fmt::format("{} in {} is not a regular file", name, folder), ""};
  }
  return fd;
}

Result<std::unique_ptr<TraceSpool>> TraceSpool::OpenNamed(const std::string& folder, const std::string& name,
                                                          std::optional<uint64_t> size) {
  std::string path = folder + "/" + name;
  PP_ASSIGN_OR_RETURN(UniqueFd fd, OpenToRead(path, folder));
  struct stat there {};
  ::fstat(fd.get(), &there);
  std::unique_ptr<TraceSpool> spool(new TraceSpool(std::move(fd), folder, std::move(path)));
  spool->written_ = static_cast<uint64_t>(there.st_size);
  if (size.has_value() && *size <= spool->written_) {
    spool->committed_.store(*size, std::memory_order_release);
  } else {
    PP_RETURN_IF_ERROR(spool->FindWhatIsWhole(spool->written_));
  }
  spool->Rest();
  return spool;
}

TraceSpool::TraceSpool(UniqueFd fd, std::string folder, std::string path)
    : folder_(std::move(folder)), path_(std::move(path)), kept_(std::make_shared<const UniqueFd>(std::move(fd))) {
  open_ = kept_;
}

void TraceSpool::Rest() {
  const std::lock_guard lock(file_mutex_);
  if (!path_.empty()) {
    kept_.reset();
  }
}

Result<TraceSpool::Reading> TraceSpool::File() const {
  const std::lock_guard lock(file_mutex_);
  if (Reading open = open_.lock(); open != nullptr) {
    return open;
  }
  PP_ASSIGN_OR_RETURN(UniqueFd fd, OpenToRead(path_, folder_));
  auto file = std::make_shared<const UniqueFd>(std::move(fd));
  open_ = file;
  return Reading(std::move(file));
}

TraceSpool::Reading TraceSpool::Hold() const {
  auto file = File();
  return file.has_error() ? nullptr : std::move(file).value();
}

// If bytes are damaged, the packets before them count.
Result<void> TraceSpool::FindWhatIsWhole(uint64_t end) {
  for (uint64_t at = 0; at < end;) {
    PP_ASSIGN_OR_RETURN(const std::string bytes, ReadExactly(at, std::min(kScanAtOnce, end - at)));
    if (Frame(bytes).has_error()) {
      break;
    }
    at += bytes.size();
  }
  committed_.store(framer_.offset(), std::memory_order_release);
  return {};
}

Result<void> TraceSpool::Frame(std::string_view text) {
  return framer_.Feed(text, [this](std::string_view) {
    if (framer_.offset() >= next_landmark_) {
      const std::lock_guard lock(mutex_);
      landmarks_.push_back(framer_.offset());
      next_landmark_ = framer_.offset() + kLandmarkEvery;
    }
    return Result<void>();
  });
}

Result<void> TraceSpool::Append(std::span<const std::byte> bytes) {
  auto framed = Frame({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::pwrite(kept_->get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(written_));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      const int err = errno;
      CommitWhatIsWhole();
      return StorageError(err, folder_, "cannot store the trace",
                          "free some space there; what was recorded until then is kept");
    }
    done += static_cast<size_t>(put);
    written_ += static_cast<uint64_t>(put);
  }
  committed_.store(framer_.offset(), std::memory_order_release);
  return framed;  // the packets before the damage are sound
}

// After a write that failed half-way, commits the packets that are on the disk.
void TraceSpool::CommitWhatIsWhole() {
  uint64_t at = size();
  while (at < written_) {
    const auto header = ReadExactly(at, std::min<uint64_t>(kMaxHeader, written_ - at));
    const uint64_t whole = header.has_error() ? 0 : MeasurePacket(header.value());
    if (whole == 0 || whole > written_ - at) {
      break;
    }
    at += whole;
  }
  committed_.store(at, std::memory_order_release);
}

Result<std::string> TraceSpool::ReadExactly(uint64_t offset, size_t size) const {
  PP_ASSIGN_OR_RETURN(const Reading file, File());
  std::string bytes(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file->get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return StorageError(got == 0 ? EIO : errno, folder_, "cannot read the stored trace", "");
    }
    done += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return bytes;
}

void TraceSpool::ForgetBefore(uint64_t offset) {
  constexpr uint64_t kBlock = 64 * 1024;
  const uint64_t blocks = std::min(offset, size()) / kBlock * kBlock;
  if (blocks > 0 &&
      ::fallocate(kept_->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(blocks)) == 0) {
    forgotten_.store(blocks, std::memory_order_relaxed);
  }
}

Result<bool> TraceSpool::CheckOffset(uint64_t offset) const {
  const uint64_t end = size();
  if (offset > end) {
    return BadOffset(offset, fmt::format("is beyond its end, {}", end));
  }
  uint64_t at = 0;
  {
    const std::lock_guard lock(mutex_);
    at = *std::prev(std::upper_bound(landmarks_.begin(), landmarks_.end(), offset));
  }
  for (const uint64_t begin = at; at < offset;) {  // block by block: an earlier daemon's trace has no landmarks here
    PP_ASSIGN_OR_RETURN(const std::string block, ReadExactly(at, std::min(kLandmarkEvery, end - at)));
    uint64_t whole = MeasurePacket(block);
    if (whole == 0) {
      return Error{Code::kDataLoss, fmt::format("the stored trace is damaged at byte {}", at), ""};
    }
    uint64_t passed = 0;
    while (whole != 0 && at + passed < offset) {
      passed += whole;
      whole = passed < block.size() ? MeasurePacket(std::string_view(block).substr(passed)) : 0;
    }
    at += passed;
    const std::lock_guard lock(mutex_);
    if (at >= landmarks_.back() + kLandmarkEvery / 2) {
      landmarks_.push_back(at);
    }
    if (at < offset && at - begin > kCheckAtOnce) {
      return false;
    }
  }
  return at == offset ? Result<bool>(true) : BadOffset(offset, "is inside a packet");
}

// Returns the last landmark in (from, until], or 0.
uint64_t TraceSpool::LandmarkWithin(uint64_t from, uint64_t until) const {
  const std::lock_guard lock(mutex_);
  const uint64_t last = *std::prev(std::upper_bound(landmarks_.begin(), landmarks_.end(), until));
  return last > from ? last : 0;
}

Result<std::string> TraceSpool::ReadPackets(uint64_t offset, size_t most) const {
  const uint64_t end = size();
  const uint64_t left = end - std::min(offset, end);
  if (left == 0) {
    return std::string();
  }
  if (left <= most) {
    return ReadExactly(offset, left);
  }
  if (const uint64_t boundary = LandmarkWithin(offset, std::min(offset + most, end)); boundary != 0) {
    return ReadExactly(offset, boundary - offset);
  }
  PP_ASSIGN_OR_RETURN(std::string bytes, ReadExactly(offset, std::min<uint64_t>(left, std::max(most, kMaxHeader))));
  const uint64_t first = MeasurePacket(bytes);
  if (first == 0 || first > left) {
    return BadOffset(offset, "is not the beginning of a packet");
  }
  if (first > bytes.size()) {
    return ReadExactly(offset, first);
  }
  uint64_t whole = 0;
  for (uint64_t next = first; next != 0 && whole + next <= bytes.size();) {
    whole += next;
    next = MeasurePacket(std::string_view(bytes).substr(whole));
  }
  bytes.resize(whole);
  return bytes;
}

}  // namespace ptrace_prof
