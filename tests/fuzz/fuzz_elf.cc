// Any bytes as an ELF image in memory and as its file.
//
// The first 8 bytes choose where the image is, and whether the rest is only mapped or is also the file.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "attach/base/unique_fd.h"
#include "symbolizer/elf/elf_image.h"

namespace {

using namespace ptrace_prof;

// The input, mapped once at `base`; everything else faults.
class InputMemory final : public RemoteMemory {
 public:
  InputMemory(RemoteAddr base, std::span<const uint8_t> bytes) : base_(base), bytes_(bytes) {}

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    if (++reads_ > 1'000'000) {
      std::abort();
    }
    const uint64_t offset = from - base_;
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return ReadStatus::kFault;
    }
    std::copy_n(bytes_.data() + offset, size, static_cast<uint8_t*>(to));
    return ReadStatus::kOk;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override {
    *filled = 0;
    for (const ReadRequest& request : requests) {
      if (Read(request.from, request.to, request.size) != ReadStatus::kOk) {
        return ReadStatus::kFault;
      }
      ++*filled;
    }
    return ReadStatus::kOk;
  }

 private:
  RemoteAddr base_;
  std::span<const uint8_t> bytes_;
  uint64_t reads_ = 0;
};

UniqueFd FileOf(std::span<const uint8_t> bytes) {
  UniqueFd fd(::memfd_create("fuzz_elf", MFD_CLOEXEC));
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t choice = 0;
  if (size < sizeof choice) {
    return 0;
  }
  std::memcpy(&choice, data, sizeof choice);
  const std::span<const uint8_t> bytes(data + sizeof choice, size - sizeof choice);
  const RemoteAddr base(choice & ~uint64_t{4095});
  InputMemory memory(base, bytes);
  auto image = ElfImage::FromMemory(memory, base);
  if (image.has_error()) {
    return 0;
  }
  if (image.value().build_id().size() > 64 || image.value().segments().size() > 512) {
    std::abort();
  }
  if ((choice & 1) != 0) {
    (void)image.value().AddFile(FileOf(bytes).get());
  }
  (void)image.value().FindSymbol("_PyRuntime");
  (void)image.value().FindSection(".PyRuntime");
  return 0;
}
