#include "symbolizer/elf/elf_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <random>

#include "attach/proc/maps.h"
#include "attach/proc/process_memory.h"
#include "symbolizer/elf/import_slots.h"
#include "tests/unit/symbolizer/elf/fake_process.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kBias = 0x7f0012340000;

// Built by symbolizer_elf.cmake from one source: GNU hash and build-id; the same stripped; SysV hash without build-id.
const std::string kGnu = PP_ELF_FIXTURES "/libelf_fixture_gnu.so";
const std::string kStripped = PP_ELF_FIXTURES "/libelf_fixture_stripped.so";
const std::string kSysv = PP_ELF_FIXTURES "/libelf_fixture_sysv.so";

Result<ElfImage> ImageOf(const std::string& path, uint64_t bias = kBias, bool relocate = true) {
  FakeProcess process;
  process.MapElf(ReadWholeFile(path), bias, relocate);
  return ElfImage::FromMemory(process, RemoteAddr(bias));
}

Result<void> AddFile(ElfImage& image, const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY));
  return image.AddFile(fd.get());
}

void* SymbolInThisProcess(const std::string& library, const char* name) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW);
  return handle != nullptr ? ::dlsym(handle, name) : nullptr;
}

// The image as it is mapped in this very process.
Result<ElfImage> LiveImage(std::string_view path_suffix) {
  ProcessMemory memory{Pid(::getpid())};
  for (const MemoryRegion& region : ReadMaps(Pid(::getpid())).value()) {
    if (region.path.ends_with(path_suffix) && region.file_offset == 0) {
      return ElfImage::FromMemory(memory, region.start);
    }
  }
  return Error{Code::kNotFound, std::string(path_suffix), ""};
}

TEST(ElfImage, FindsDynamicSymbolsThroughEitherHashRelocatedOrNot) {
  for (const std::string& path : {kGnu, kStripped, kSysv}) {
    for (const bool relocate : {true, false}) {
      const auto image = ImageOf(path, kBias, relocate);
      ASSERT_TRUE(image.has_value()) << path;
      EXPECT_EQ(image.value().bias().value, kBias);
      const auto data = image.value().FindSymbol("pp_fixture_data");
      ASSERT_TRUE(data.has_value()) << path << relocate;
      EXPECT_EQ(data->size, 24u);
      EXPECT_TRUE(image.value().FindSymbol("pp_fixture_function").has_value());
      EXPECT_EQ(image.value().FindSymbol("pp_fixture_runtime")->size, 640u);
      EXPECT_FALSE(image.value().FindSymbol("pp_fixture_static_function").has_value());
      EXPECT_FALSE(image.value().FindSymbol("pp_fixture_thread_local").has_value());
      EXPECT_FALSE(image.value().FindSymbol("pp_fixture").has_value());
      EXPECT_FALSE(image.value().FindSymbol("").has_value());
    }
  }
}

TEST(ElfImage, AgreesWithTheDynamicLinker) {
  for (const std::string& path : {kGnu, kSysv}) {
    void* data = SymbolInThisProcess(path, "pp_fixture_data");
    const auto image = LiveImage(path.substr(path.rfind('/')));
    ASSERT_TRUE(image.has_value()) << path;
    EXPECT_EQ(image.value().Address(image.value().FindSymbol("pp_fixture_data")->value).value,
              reinterpret_cast<uint64_t>(data));
  }
  const auto libc = LiveImage("/libc.so.6");
  ASSERT_TRUE(libc.has_value());
  EXPECT_EQ(libc.value().Address(libc.value().FindSymbol("getpid")->value).value,
            reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, "getpid")));
  EXPECT_FALSE(libc.value().build_id().empty());
}

TEST(ElfImage, ReadsTheVdso) {
  ProcessMemory memory{Pid(::getpid())};
  const auto vdso = ElfImage::FromMemory(memory, RemoteAddr(::getauxval(AT_SYSINFO_EHDR)));
  ASSERT_TRUE(vdso.has_value());
#if defined(__aarch64__)
  const auto symbol = vdso.value().FindSymbol("__kernel_clock_gettime");
#else
  const auto symbol = vdso.value().FindSymbol("__vdso_clock_gettime");
#endif
  ASSERT_TRUE(symbol.has_value());
  EXPECT_GT(symbol->value, 0u);
  EXPECT_LT(symbol->value, 16384u);
}

TEST(ElfImage, KnowsSegmentsAndBuildId) {
  const auto image = ImageOf(kGnu);
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image.value().build_id().size(), 20u);
  EXPECT_EQ(image.value().build_id(), ImageOf(kStripped).value().build_id());
  EXPECT_TRUE(ImageOf(kSysv).value().build_id().empty());
  const auto& segments = image.value().segments();
  const auto inside = [&](uint64_t vaddr, auto fits) {
    return std::any_of(segments.begin(), segments.end(),
                       [&](const ElfSegment& s) { return vaddr >= s.vaddr && vaddr - s.vaddr < s.size && fits(s); });
  };
  EXPECT_TRUE(
      inside(image.value().FindSymbol("pp_fixture_data")->value, [](const ElfSegment& s) { return s.writable; }));
  EXPECT_TRUE(inside(image.value().FindSymbol("pp_fixture_function")->value,
                     [](const ElfSegment& s) { return s.executable && !s.writable; }));
}

TEST(ElfImage, AFileAddsSectionsAndLocalSymbols) {
  auto image = ImageOf(kStripped);
  ASSERT_TRUE(image.has_value());
  EXPECT_FALSE(image.value().FindSection(".PyRuntime").has_value());
  ASSERT_TRUE(AddFile(image.value(), kStripped).has_value());
  const auto section = image.value().FindSection(".PyRuntime");
  ASSERT_TRUE(section.has_value());
  EXPECT_EQ(section->vaddr, image.value().FindSymbol("pp_fixture_runtime")->value);
  EXPECT_EQ(section->size, 640u);
  EXPECT_TRUE(section->writable);
  EXPECT_FALSE(image.value().FindSection(".symtab").has_value());
  EXPECT_FALSE(image.value().FindSymbol("pp_fixture_static_function").has_value());
  // The unstripped twin has the same build-id. A file of debug information is added in this way.
  ASSERT_TRUE(AddFile(image.value(), kGnu).has_value());
  EXPECT_TRUE(image.value().FindSymbol("pp_fixture_static_function").has_value());
}

TEST(ElfImage, AFileWithoutBuildIdIsKnownByItsProgramHeaders) {
  auto image = ImageOf(kSysv);
  ASSERT_TRUE(image.has_value());
  ASSERT_TRUE(AddFile(image.value(), kSysv).has_value());
  EXPECT_TRUE(image.value().FindSymbol("pp_fixture_static_function").has_value());
}

TEST(ElfImage, AnotherFileChangesNothing) {
  auto image = ImageOf(kGnu);
  ASSERT_TRUE(image.has_value());
  for (const std::string& other : {kSysv, std::string("/bin/ls")}) {
    const auto added = AddFile(image.value(), other);
    ASSERT_TRUE(added.has_error());
    EXPECT_EQ(added.error().code, Code::kFailedPrecondition);
  }
  for (const char* other : {"/dev/null", "/proc/self/maps", __FILE__}) {
    const auto added = AddFile(image.value(), other);
    ASSERT_TRUE(added.has_error()) << other;
    EXPECT_EQ(added.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(image.value().FindSection(".PyRuntime").has_value());
  EXPECT_FALSE(image.value().FindSymbol("pp_fixture_static_function").has_value());
}

TEST(ElfImage, ReadsAStrippedProgram) {
  auto image = ImageOf("/bin/ls", 0x555555554000);
  ASSERT_TRUE(image.has_value());
  EXPECT_FALSE(image.value().build_id().empty());
  EXPECT_TRUE(AddFile(image.value(), "/bin/ls").has_value());
  EXPECT_TRUE(image.value().FindSection(".text").has_value());
  EXPECT_FALSE(image.value().FindSymbol("main").has_value());
}

TEST(ElfImage, ASmallImageMayMapItsFirstPageTwice) {
  // At a fixed address: the data segment starts in the first page of the file too, at another address.
  std::vector<uint8_t> file = ReadWholeFile(kGnu);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  Elf64_Phdr loads[2] = {};
  loads[0].p_type = loads[1].p_type = PT_LOAD;
  loads[0].p_offset = 0x800;  // first in the table, but not at the header
  loads[0].p_vaddr = 0x601800;
  loads[1].p_vaddr = 0x400000;
  loads[0].p_filesz = loads[1].p_filesz = 0x100;
  std::vector<uint8_t> page(4096);
  std::memcpy(page.data(), &header, sizeof header);
  std::memcpy(page.data() + sizeof header, loads, sizeof loads);
  FakeProcess process;
  process.Map(RemoteAddr(0x400000), page);
  const auto image = ElfImage::FromMemory(process, RemoteAddr(0x400000));
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image.value().bias().value, 0u);
}

TEST(ElfImage, SaysWhatItDoesNotSupport) {
  struct Change {
    size_t at;
    uint8_t value;
    const char* says;
  };
  for (const Change& change : {Change{0, 'X', "no ELF header"}, Change{EI_CLASS, ELFCLASS32, "not 64-bit"},
                               Change{EI_DATA, ELFDATA2MSB, "big-endian"}, Change{EI_VERSION, 9, "version"},
                               Change{offsetof(Elf64_Ehdr, e_type), ET_REL, "neither a program nor a library"},
                               Change{offsetof(Elf64_Ehdr, e_phentsize), 32, "odd size"},
                               Change{offsetof(Elf64_Ehdr, e_phnum) + 1, 0xff, "too many"}}) {
    std::vector<uint8_t> page = ReadWholeFile(kGnu);
    page.resize(4096);
    page[change.at] = change.value;
    FakeProcess process;
    process.Map(RemoteAddr(kBias), page);
    const auto image = ElfImage::FromMemory(process, RemoteAddr(kBias));
    ASSERT_TRUE(image.has_error()) << change.says;
    EXPECT_EQ(image.error().code, Code::kInvalidArgument);
    EXPECT_NE(image.error().message.find(change.says), std::string::npos) << image.error().message;
  }
}

TEST(ElfImage, PassesOnWhyMemoryCannotBeRead) {
  FakeProcess process;
  EXPECT_EQ(ElfImage::FromMemory(process, RemoteAddr(kBias)).error().code, Code::kInvalidArgument);
  process.Fail(ReadStatus::kGone);
  EXPECT_EQ(ElfImage::FromMemory(process, RemoteAddr(kBias)).error().code, Code::kGone);
  process.Fail(ReadStatus::kDenied);
  EXPECT_EQ(ElfImage::FromMemory(process, RemoteAddr(kBias)).error().code, Code::kPermissionDenied);
}

TEST(ElfImage, IsBoundedOnGarbledImages) {
  const std::vector<uint8_t> good = ReadWholeFile(kGnu);
  std::mt19937 random(20260101);
  int readable = 0;
  for (int round = 0; round < 3000; ++round) {
    FakeProcess process;
    process.MapElf(good, kBias, true);
    // Up to 8 garbled bytes in critical places: headers, hash table, symbols, notes.
    std::vector<uint8_t> first(good.begin(), good.begin() + 4096);
    for (int i = 0; i <= round % 8; ++i) {
      first[random() % 1600] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
    }
    process.Map(RemoteAddr(kBias), first);
    auto image = ElfImage::FromMemory(process, RemoteAddr(kBias));
    EXPECT_LT(process.reads(), 300'000u);
    if (image.has_value()) {
      ++readable;
      (void)image.value().FindSymbol("pp_fixture_data");
      (void)AddFile(image.value(), kGnu);
    }
  }
  EXPECT_GT(readable, 100);
}

// This very program: what it calls of libc, by the address that is there now.
TEST(ImportSlots, AreThoseThroughWhichAProgramCalls) {
  ProcessMemory memory{Pid(::getpid())};
  const auto regions = ReadMaps(Pid(::getpid())).value();
  const auto region_of = [&regions](uint64_t address) {
    return std::ranges::find_if(
        regions, [address](const MemoryRegion& one) { return one.start.value <= address && address < one.end.value; });
  };
  const std::string_view functions[] = {"pp_no_such_function", "getpid", "dlopen"};
  const std::vector<ImportSlot> slots = FindImportSlots(memory, regions.front().start, functions);
  ASSERT_EQ(slots.size(), 2U);
  for (const ImportSlot& slot : slots) {
    EXPECT_NE(slot.function, 0U);
    uint64_t value = 0;
    ASSERT_EQ(memory.ReadValue(slot.at, &value), ReadStatus::kOk);
    ASSERT_NE(region_of(value), regions.end());
    EXPECT_TRUE(region_of(value)->executable);
  }
}

TEST(ImportSlots, NonsenseDoesNoHarm) {
  std::mt19937 random(26);
  const std::vector<uint8_t> image = ReadWholeFile(kGnu);
  constexpr size_t kAfterHeaders = 0x400;  // FakeProcess trusts these
  const std::string_view functions[] = {"memcpy", "malloc"};
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> changed = image;
    for (int k = 0; k < 20; ++k) {
      changed[kAfterHeaders + random() % std::min<size_t>(changed.size() - kAfterHeaders, 0x4000)] =
          static_cast<uint8_t>(random());
    }
    FakeProcess process;
    process.MapElf(changed, kBias, i % 2 == 0);
    (void)FindImportSlots(process, RemoteAddr(kBias), functions);
  }
}

}  // namespace
}  // namespace ptrace_prof
