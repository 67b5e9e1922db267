#include "attach/inject/stub_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ptrace_prof {
namespace {

constexpr uint64_t kMagic[] = {PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1};
constexpr std::string_view kInit = "PyInit_";

Error NoStub(std::string_view why) { return {Code::kInvalidArgument, fmt::format("this is no stub: {}", why), ""}; }

std::string_view Text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The name behind "PyInit_" in a table of strings.
Result<std::string> FindModule(std::string_view text) {
  const size_t at = text.find(std::string("\0", 1) + std::string(kInit));
  const size_t begin = at + 1 + kInit.size();
  const size_t end = at == std::string_view::npos ? at : text.find('\0', begin);
  if (end == std::string_view::npos || end == begin) {
    return NoStub("it exports no module");
  }
  const std::string_view name = text.substr(begin, end - begin);
  const bool plain = std::ranges::all_of(name, [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
  return plain ? Result<std::string>(std::string(name)) : NoStub("its module has an odd name");
}

}  // namespace

Result<StubFile> StubFile::Parse(std::span<const uint8_t> bytes) {
  const std::string_view text = Text(bytes);
  const std::string_view magic(reinterpret_cast<const char*>(kMagic), sizeof kMagic);
  const size_t at = text.find(magic);
  if (at == std::string_view::npos || text.size() - at < sizeof(pp_boot)) {
    return NoStub("it has no boot block");
  }
  if (text.find(magic, at + 1) != std::string_view::npos) {
    return NoStub("it has more than one boot block");
  }
  StubFile image;
  PP_ASSIGN_OR_RETURN(image.module_, FindModule(text));
  image.bytes_.assign(bytes.begin(), bytes.end());
  image.boot_at_ = at;
  std::memcpy(&image.boot_, bytes.data() + at, sizeof image.boot_);
  if (image.boot_.abi_version != PP_ABI_VERSION) {
    return NoStub("it is of another version");
  }
  return image;
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
