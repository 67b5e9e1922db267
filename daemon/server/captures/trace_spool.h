// The trace of one capture on disk: in an unnamed file, which the kernel removes with us in any case, or in a file that
// stays.
//
// Call Append, ForgetBefore and Rest from one thread, the other methods from any. Only whole packets count in size(),
// so every prefix that a reader gets is a valid trace. The bytes come from a collector and are hostile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/trace/read/packet_framer.h"

namespace ptrace_prof {

class TraceSpool {
 public:
  // Creates an unnamed file in `folder`, which must exist.
  static Result<std::unique_ptr<TraceSpool>> Create(const std::string& folder);
  // Creates a file with this name, which must not exist yet.
  static Result<std::unique_ptr<TraceSpool>> CreateNamed(const std::string& folder, const std::string& name);
  // Opens an existing trace for reading. `size` is its last known size; without it, or if the file is shorter, the
  // whole file is read to find the whole packets.
  static Result<std::unique_ptr<TraceSpool>> OpenNamed(const std::string& folder, const std::string& name,
                                                       std::optional<uint64_t> size);

  // DISK_FULL or STORAGE_FAILED; kDataLoss: the bytes are no trace.
  Result<void> Append(std::span<const std::byte> bytes);
  uint64_t size() const { return committed_.load(std::memory_order_acquire); }

  // Gives the space before `offset` back if the file system can; nobody may read there any more. Call from one thread.
  void ForgetBefore(uint64_t offset);
  // Bytes that still take up space.
  uint64_t stored() const { return size() - forgotten_.load(std::memory_order_relaxed); }

  // No Append follows. A named file is closed, and reopened while somebody reads.
  void Rest();
  // Keeps the file open, so that a reader can go on although its name is removed. Null: the file cannot be opened;
  // reading returns the error.
  using Reading = std::shared_ptr<const UniqueFd>;
  Reading Hold() const;

  // kOutOfRange: `offset` is behind the end or inside a packet. False: not known yet; call again to continue the
  // search, which covers a limited part of an earlier daemon's trace per call.
  static constexpr uint64_t kCheckAtOnce = 8 << 20;
  Result<bool> CheckOffset(uint64_t offset) const;
  static constexpr size_t kReadAtOnce = 1 << 20;  // a good amount for ReadPackets
  // Returns whole packets from `offset` on, which is the beginning of one: at most `most` bytes, but at least one
  // packet. Empty at the end.
  Result<std::string> ReadPackets(uint64_t offset, size_t most) const;

 private:
  // `path`: empty for an unnamed file.
  TraceSpool(UniqueFd fd, std::string folder, std::string path = {});
  static Result<UniqueFd> OpenToRead(const std::string& path, const std::string& folder);
  Result<Reading> File() const;
  Result<void> Frame(std::string_view text);
  Result<void> FindWhatIsWhole(uint64_t end);
  void CommitWhatIsWhole();
  uint64_t LandmarkWithin(uint64_t from, uint64_t until) const;
  Result<std::string> ReadExactly(uint64_t offset, size_t size) const;

  const std::string folder_;  // for messages
  const std::string path_;
  mutable std::mutex file_mutex_;
  Reading kept_;                                // until Rest
  mutable std::weak_ptr<const UniqueFd> open_;  // while somebody reads
  PacketFramer framer_;
  uint64_t written_ = 0;
  uint64_t next_landmark_ = 1;
  std::atomic<uint64_t> committed_ = 0;
  std::atomic<uint64_t> forgotten_ = 0;
  mutable std::mutex mutex_;
  // Beginnings of packets, about kLandmarkEvery apart; some are not committed yet. In an existing trace they are known
  // only as far as it was searched.
  mutable std::vector<uint64_t> landmarks_{0};
};

}  // namespace ptrace_prof
