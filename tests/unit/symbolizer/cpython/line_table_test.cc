// Compares the three line table decoders with what each interpreter itself reports, for every code unit of a corpus of
// call shapes and of a sample of its standard library.
#include "symbolizer/cpython/line_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {

bool operator==(const SourcePosition& a, const SourcePosition& b) {
  return a.line == b.line && a.end_line == b.end_line && a.column == b.column && a.end_column == b.end_column;
}
void PrintTo(const SourcePosition& p, std::ostream* out) {
  *out << p.line << ":" << p.column << "-" << p.end_line << ":" << p.end_column;
}

namespace {

std::string ScriptText() {
  std::ifstream file(PP_LINE_TABLE_DUMP);
  return {std::istreambuf_iterator<char>(file), {}};
}

LineTableKind KindOf(int minor) {
  return minor < 10    ? LineTableKind::kLnotab
         : minor == 10 ? LineTableKind::kLineTable310
                       : LineTableKind::kLocationTable;
}

std::vector<uint8_t> TableFromHex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

struct Tally {
  size_t codes = 0;
  size_t units = 0;
  size_t largest_table = 0;
  size_t wrong = 0;
};

// Decodes each unit that the dump lists and compares. Stops at ten differences.
Tally Compare(LineTableKind kind, std::istream& dump) {
  const LineTableDecoder decode = DecoderFor(kind);
  Tally tally;
  std::vector<uint8_t> table;
  LineCursor cursor;
  int32_t first_line = 0;
  int64_t at = 0;
  for (std::string line; tally.wrong < 10 && std::getline(dump, line);) {
    std::istringstream fields(line);
    if (line.starts_with("code ")) {
      std::string word, hex;
      fields >> word >> first_line >> hex;
      table = TableFromHex(hex);
      at = 0;
      cursor = {};
      ++tally.codes;
      tally.largest_table = std::max(tally.largest_table, table.size());
      continue;
    }
    int64_t end = 0;
    SourcePosition expected;
    fields >> end >> expected.line >> expected.end_line >> expected.column >> expected.end_column;
    for (; at < end; at += 2) {
      ++tally.units;
      const SourcePosition found = decode(table, first_line, at);
      EXPECT_EQ(decode(table, first_line, at, cursor), found) << "with the cursor, byte " << at;
      if (!(found == expected)) {
        ++tally.wrong;
        EXPECT_EQ(found, expected) << "code object " << tally.codes << ", byte " << at;
      }
    }
  }
  return tally;
}

class LineTableOfInterpreter : public testing::TestWithParam<Interpreter> {};

TEST_P(LineTableOfInterpreter, EveryCodeUnitHasTheLineThatPythonSays) {
  const auto output = OutputOf(GetParam().Command({"-c", ScriptText(), "2", "8"}));
  ASSERT_TRUE(output.has_value());
  std::istringstream dump(*output);
  const Tally tally = Compare(KindOf(GetParam().minor()), dump);
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_GT(tally.codes, 500U);
  EXPECT_GT(tally.units, 50000U);
  EXPECT_GT(tally.largest_table, 2048U);
  RecordProperty("code_objects", std::to_string(tally.codes));
  RecordProperty("code_units", std::to_string(tally.units));
}

INSTANTIATE_TEST_SUITE_P(All, LineTableOfInterpreter, testing::ValuesIn(Interpreters()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LineTableOfInterpreter);

constexpr LineTableKind kKinds[] = {LineTableKind::kLnotab, LineTableKind::kLineTable310,
                                    LineTableKind::kLocationTable};

TEST(LineTable, BeforeTheFirstInstructionIsTheFirstLine) {
  const std::vector<uint8_t> lnotab = {2, 5}, linetable = {2, 5}, locations = {0xD8, 5, 0};
  EXPECT_EQ(DecoderFor(LineTableKind::kLnotab)(lnotab, 7, -1).line, 7);
  EXPECT_EQ(DecoderFor(LineTableKind::kLineTable310)(linetable, 7, -2).line, 7);
  EXPECT_EQ(DecoderFor(LineTableKind::kLocationTable)(locations, 7, -2).line, 7);
}

TEST(LineTable, NothingIsKnownBehindTheEnd) {
  const std::vector<uint8_t> linetable = {2, 5}, locations = {0xD8, 5, 0};
  EXPECT_EQ(DecoderFor(LineTableKind::kLineTable310)(linetable, 7, 2).line, 0);
  EXPECT_EQ(DecoderFor(LineTableKind::kLocationTable)(locations, 7, 1000).line, 0);
  for (const LineTableKind kind : {LineTableKind::kLineTable310, LineTableKind::kLocationTable}) {
    EXPECT_EQ(DecoderFor(kind)({}, 7, 0).line, 0);
  }
}

TEST(LineTable, AnEntryEndsBeforeItsEnd) {
  // Two entries of one unit each: line 10 and line 11.
  const std::vector<uint8_t> locations = {0x80 | 13 << 3, 0, 0x80 | 13 << 3, 2};
  const auto decode = DecoderFor(LineTableKind::kLocationTable);
  EXPECT_EQ(decode(locations, 10, 0).line, 10);
  EXPECT_EQ(decode(locations, 10, 2).line, 11);
}

TEST(LineTable, HostileBytesGiveSomeAnswer) {
  std::vector<uint8_t> table(4096);
  uint32_t state = 12345;
  for (int round = 0; round < 300; ++round) {
    for (uint8_t& byte : table) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 24);
    }
    for (const LineTableKind kind : kKinds) {
      for (const int32_t first_line : {INT32_MIN, -1, 0, 1, INT32_MAX}) {
        for (const int64_t instruction : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{777}, INT64_MAX}) {
          const SourcePosition found = DecoderFor(kind)(table, first_line, instruction);
          ASSERT_GE(found.line, 0);
          ASSERT_GE(found.end_line, 0);
          ASSERT_GE(found.column, -1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ptrace_prof
