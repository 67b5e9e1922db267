#include "symbolizer/elf/symbol_table.h"

#include <gtest/gtest.h>

#include <string>

#include "attach/base/byte_reader.h"
#include "symbolizer/elf/elf_headers.h"

namespace ptrace_prof {
namespace {

using namespace std::string_literals;

Elf64_Sym Symbol(uint32_t name, uint8_t bind, uint8_t type, uint16_t section, uint64_t value) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(bind, type);
  symbol.st_shndx = section;
  symbol.st_value = value;
  return symbol;
}

TEST(SymbolTable, KeepsWhatNamesAnAddress) {
  const std::string names = "\0alpha\0beta\0gamma\0unterminated"s;
  const Elf64_Sym symbols[] = {Symbol(1, STB_LOCAL, STT_OBJECT, 3, 10),
                               Symbol(1, STB_GLOBAL, STT_OBJECT, 3, 11),
                               Symbol(7, STB_GLOBAL, STT_TLS, 3, 12),
                               Symbol(7, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 13),
                               Symbol(12, STB_WEAK, STT_GNU_IFUNC, 3, 14),
                               Symbol(18, STB_GLOBAL, STT_FUNC, 3, 15),
                               Symbol(4'000'000'000u, STB_GLOBAL, STT_FUNC, 3, 16),
                               Symbol(0, STB_GLOBAL, STT_FUNC, 3, 17)};
  const SymbolTable table(symbols, std::vector<char>(names.begin(), names.end()));
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.Find("alpha")->value, 11u);  // the global one
  EXPECT_FALSE(table.Find("beta").has_value());
  EXPECT_EQ(table.Find("gamma")->value, 14u);
  EXPECT_FALSE(table.Find("unterminated").has_value());
  EXPECT_FALSE(SymbolTable({}, {}).Find("alpha").has_value());
}

// One note with owner and content already padded.
std::vector<uint8_t> Note(uint32_t type, uint32_t owner_size, uint32_t content_size, const std::string& bytes) {
  const Elf64_Nhdr header{owner_size, content_size, type};
  std::vector<uint8_t> note(sizeof header + bytes.size());
  std::memcpy(note.data(), &header, sizeof header);
  std::memcpy(note.data() + sizeof header, bytes.data(), bytes.size());
  return note;
}

TEST(FindBuildId, WalksOverOtherNotes) {
  auto notes = Note(1, 4, 3, "GNU\0abc\0"s);
  const auto id = Note(NT_GNU_BUILD_ID, 4, 4, "GNU\0\1\2\3\4"s);
  notes.insert(notes.end(), id.begin(), id.end());
  EXPECT_EQ(FindBuildId(notes, 4), (std::vector<uint8_t>{1, 2, 3, 4}));
}

TEST(FindBuildId, RefusesWhatIsNotOne) {
  EXPECT_TRUE(FindBuildId({}, 4).empty());
  EXPECT_TRUE(FindBuildId(Note(NT_GNU_BUILD_ID, 4, 4, "Foo\0\1\2\3\4"s), 4).empty());
  EXPECT_TRUE(FindBuildId(Note(NT_GNU_BUILD_ID, 4, 100, "GNU\0\1\2\3\4"s), 4).empty());
  EXPECT_TRUE(FindBuildId(Note(NT_GNU_BUILD_ID, 0xffffffff, 4, "GNU\0\1\2\3\4"s), 4).empty());
  EXPECT_TRUE(FindBuildId(Note(NT_GNU_BUILD_ID, 4, 80, "GNU\0"s + std::string(80, 'x')), 4).empty());
}

TEST(ByteReader, NeverLeavesItsBytes) {
  const uint8_t bytes[] = {1, 0, 0, 0, 5, 6};
  ByteReader reader(bytes);
  uint32_t word = 0;
  ASSERT_TRUE(reader.Read(&word));
  EXPECT_EQ(word, 1u);
  EXPECT_FALSE(reader.Read(&word));
  EXPECT_EQ(reader.left(), 2u);
  EXPECT_FALSE(reader.Skip(3));
  EXPECT_TRUE(reader.Skip(1));
  reader.Align(4);
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_FALSE(reader.Skip(~size_t{0}));
}

}  // namespace
}  // namespace ptrace_prof
