// The trace of one capture on disk: in a file without a name, gone with us, whatever happens; or in one that stays.
//
// Append, ForgetBefore and Rest from one thread; the rest from any. Only whole packets count as size(), so that every
// prefix that a reader gets is a valid trace. Bytes come from a collector and are hostile.
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
  // In `folder`, which must exist.
  static Result<std::unique_ptr<TraceSpool>> Create(const std::string& folder);
  // A file of that name, which there must not be yet.
  static Result<std::unique_ptr<TraceSpool>> CreateNamed(const std::string& folder, const std::string& name);
  // To be read: one that was made before. `size`: as it was known then; without it, or where less is there, the whole
  // packets are looked for, which reads all of it.
  static Result<std::unique_ptr<TraceSpool>> OpenNamed(const std::string& folder, const std::string& name,
                                                       std::optional<uint64_t> size);

  // DISK_FULL or STORAGE_FAILED; kDataLoss when this is no trace.
  Result<void> Append(std::span<const std::byte> bytes);
  uint64_t size() const { return committed_.load(std::memory_order_acquire); }

  // Gives the space before `offset` back, where the file system can; nobody reads there any more. From one thread.
  void ForgetBefore(uint64_t offset);
  // Bytes that take up space still.
  uint64_t stored() const { return size() - forgotten_.load(std::memory_order_relaxed); }

  // Nothing is appended any more. A file that has a name is closed, and open again while somebody reads.
  void Rest();
  // Who holds it reads on to the end although the file's name may go. Null: it cannot be read, which reading says.
  using Reading = std::shared_ptr<const UniqueFd>;
  Reading Hold() const;

  // kOutOfRange: `offset` is behind the end or inside a packet. False: it is not known yet, and more is when this is
  // called again: a trace of an earlier daemon is looked through, so much at a time.
  static constexpr uint64_t kCheckAtOnce = 8 << 20;
  Result<bool> CheckOffset(uint64_t offset) const;
  // Whole packets from `offset`, the beginning of one, on: at most `most` bytes, but at least one packet. Empty at the
  // end.
  Result<std::string> ReadPackets(uint64_t offset, size_t most) const;

 private:
  // `path`: empty where it has no name.
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
  Reading kept_;                                // until it rests
  mutable std::weak_ptr<const UniqueFd> open_;  // somebody reads
  PacketFramer framer_;
  uint64_t written_ = 0;
  uint64_t next_landmark_ = 1;
  std::atomic<uint64_t> committed_ = 0;
  std::atomic<uint64_t> forgotten_ = 0;
  mutable std::mutex mutex_;
  // Beginnings of packets, about kLandmarkEvery apart; some not committed yet. Of a trace that was made before: as far
  // as it was looked for them.
  mutable std::vector<uint64_t> landmarks_{0};
};

}  // namespace ptrace_prof
