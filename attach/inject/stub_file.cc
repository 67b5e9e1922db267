#include "attach/inject/stub_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "attach/inject/stub_image.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kMagic[] = {PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1};

Error NoStub(std::string_view why) { return {Code::kInvalidArgument, fmt::format("this is no stub: {}", why), ""}; }

}  // namespace

Result<StubFile> StubFile::Parse(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view magic(reinterpret_cast<const char*>(kMagic), sizeof kMagic);
  const size_t at = text.find(magic);
  if (at == std::string_view::npos || text.size() - at < sizeof(pp_boot)) {
    return NoStub("it has no boot block");
  }
  if (text.find(magic, at + 1) != std::string_view::npos) {
    return NoStub("it has more than one boot block");
  }
  StubFile image;
  image.bytes_.assign(bytes.begin(), bytes.end());
  image.boot_at_ = at;
  std::memcpy(&image.boot_, bytes.data() + at, sizeof image.boot_);
  if (image.boot_.abi_version != PP_ABI_VERSION) {
    return NoStub("it is of another version");
  }
  return image;
}

Result<StubFile> StubFile::Carried() {
  const std::span<const std::byte> image = StubImage();
  return Parse({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
}

void TellStub(const pp_boot& boot, pp_boot* block) {
  pp_boot told = boot;
  std::memcpy(told.magic, kMagic, sizeof told.magic);
  told.abi_version = PP_ABI_VERSION;
  told.enter_entry = block->enter_entry;
  told.busy = block->busy;
  told.error = block->error;
  told.error_step = block->error_step;
  told.error_number = block->error_number;
  told.served = block->served;
  *block = told;
}

void StubFile::Fill(const pp_boot& boot) {
  TellStub(boot, &boot_);
  std::memcpy(bytes_.data() + boot_at_, &boot_, sizeof boot_);
}

std::string StubFileName(uint64_t nonce) { return fmt::format("{}{:016x}", kStubFilePrefix, nonce); }

std::string ChannelFileName(uint64_t nonce) { return fmt::format("{}{:016x}", kChannelFilePrefix, nonce); }

}  // namespace ptrace_prof
