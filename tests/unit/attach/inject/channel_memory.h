// Shared memory as a stub makes it, for tests of the collector's side.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "attach/abi/channel.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/channel.h"

namespace ptrace_prof {

class ChannelMemory {
 public:
  explicit ChannelMemory(const ChannelShape& shape) : shape_(shape), fd_(::memfd_create("t", MFD_ALLOW_SEALING)) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(shape.size())) != 0) {
      ::abort();
    }
    memory_ = static_cast<uint8_t*>(::mmap(nullptr, shape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    head() = {.magic = PP_CHANNEL_MAGIC,
              .abi_version = PP_ABI_VERSION,
              .ring_count = shape.rings,
              .ring_records = shape.records,
              .nonce = shape.nonce,
              .size = shape.size(),
              .state = PP_STATE_READY};
  }
  ChannelMemory(const ChannelMemory&) = delete;
  ChannelMemory& operator=(const ChannelMemory&) = delete;
  ~ChannelMemory() { ::munmap(memory_, shape_.size()); }

  void Seal() const { (void)::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW); }
  const UniqueFd& file() const { return fd_; }
  pp_channel& head() const { return *reinterpret_cast<pp_channel*>(memory_); }
  pp_ring& ring(uint32_t i) const { return *reinterpret_cast<pp_ring*>(memory_ + PP_RING_OFFSET(i)); }
  pp_record* records(uint32_t i) const {
    return reinterpret_cast<pp_record*>(memory_ + PP_RECORDS_OFFSET(shape_.rings, shape_.records, i));
  }
  uint8_t* bytes() const { return memory_; }

  // Publishes a record as a thread of the target does.
  void Publish(uint32_t i, const pp_record& record) const {
    records(i)[ring(i).head & (shape_.records - 1)] = record;
    __atomic_store_n(&ring(i).head, ring(i).head + 1, __ATOMIC_RELEASE);
  }

 private:
  ChannelShape shape_;
  UniqueFd fd_;
  uint8_t* memory_;
};

}  // namespace ptrace_prof
