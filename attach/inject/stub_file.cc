#include "attach/inject/stub_file.h"

#include <cstring>

#include "attach/inject/stub_image.h"

namespace ptrace_prof {
namespace {

template <typename T>
std::span<uint8_t> BytesOf(T& value) {
  return {reinterpret_cast<uint8_t*>(&value), sizeof value};
}

}  // namespace

constinit const StubKind kTracerStub{{PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1},
                                     PP_ABI_VERSION,
                                     sizeof(pp_boot),
                                     "ptrace-prof-stub.",
                                     "ptrace-prof-ring.",
                                     kStubModule};

Result<StubFile> StubFile::Parse(std::span<const uint8_t> bytes) {
  StubFile image;
  PP_ASSIGN_OR_RETURN(image.boot_at_, FindBootBlock(kTracerStub, bytes));
  image.bytes_.assign(bytes.begin(), bytes.end());
  std::memcpy(&image.boot_, bytes.data() + image.boot_at_, sizeof image.boot_);
  return image;
}

Result<StubFile> StubFile::Carried() {
  const std::span<const std::byte> image = StubImage();
  return Parse({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
}

void StubFile::Fill(const pp_boot& boot) {
  pp_boot told = boot;
  TellBootBlock(kTracerStub, BytesOf(told), BytesOf(boot_));
  std::memcpy(bytes_.data() + boot_at_, &boot_, sizeof boot_);
}

std::string ChannelFileName(uint64_t nonce) { return StubMemoryName(kTracerStub, nonce); }

}  // namespace ptrace_prof
