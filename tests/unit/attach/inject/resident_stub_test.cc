// A stub that is already in a target: this process, which has mapped the file of one.
#include "attach/inject/resident_stub.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "attach/abi/boot.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/process_memory.h"

namespace ptrace_prof {
namespace {

constexpr size_t kBootAt = 128;

class ResidentStubTest : public ::testing::Test {
 protected:
  ResidentStubTest() : file_(::memfd_create(StubFileName(kTracerStub, 0x4711).c_str(), 0)) {
    EXPECT_EQ(::ftruncate(file_.get(), 2 * PP_PAGE), 0);
    data_ = Map(PROT_READ | PROT_WRITE, 0);
    code_ = Map(PROT_READ | PROT_EXEC, PP_PAGE);
    boot().magic[0] = PP_BOOT_MAGIC_0;
    boot().magic[1] = PP_BOOT_MAGIC_1;
    boot().abi_version = PP_ABI_VERSION;
    boot().enter_entry = reinterpret_cast<uint64_t>(code_);
    boot().busy = 1;
  }
  ~ResidentStubTest() override {
    ::munmap(data_, PP_PAGE);
    ::munmap(code_, PP_PAGE);
  }
  uint8_t* Map(int protection, off_t offset) {
    return static_cast<uint8_t*>(::mmap(nullptr, PP_PAGE, protection, MAP_SHARED, file_.get(), offset));
  }
  pp_boot& boot() { return *reinterpret_cast<pp_boot*>(data_ + kBootAt); }
  std::optional<ResidentStub> Find() {
    auto found = ResidentStub::Find(Pid(::getpid()), memory_);
    EXPECT_TRUE(found.has_value());
    return found.value();
  }

  UniqueFd file_;
  uint8_t* data_ = nullptr;
  uint8_t* code_ = nullptr;
  ProcessMemory memory_{Pid(::getpid())};
};

TEST_F(ResidentStubTest, IsFoundByItsBootBlock) {
  const auto found = Find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->boot, RemoteAddr(reinterpret_cast<uint64_t>(&boot())));
  EXPECT_EQ(found->enter, RemoteAddr(reinterpret_cast<uint64_t>(code_)));
  EXPECT_TRUE(found->busy);
}

TEST_F(ResidentStubTest, OfAnotherVersionIsNotSpokenTo) {
  for (const uint32_t version : {PP_ABI_VERSION - 1, PP_ABI_VERSION + 1, 0U}) {
    boot().abi_version = version;
    EXPECT_FALSE(Find().has_value()) << version;
  }
}

TEST_F(ResidentStubTest, WhoseFunctionIsNotInItsFileIsNone) {
  boot().enter_entry = reinterpret_cast<uint64_t>(data_);
  EXPECT_FALSE(Find().has_value());
}

}  // namespace
}  // namespace ptrace_prof
