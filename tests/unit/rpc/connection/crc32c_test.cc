// CRC-32C against the vectors of RFC 3720, and against its definition at every length and alignment.

#include "rpc/connection/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace ptrace_prof {
namespace {

// Bit by bit, as it is defined.
uint32_t ByDefinition(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    }
  }
  return ~crc;
}

TEST(Crc32c, KnownVectors) {
  std::string ascending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
  }
  const std::string descending(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eU);
  EXPECT_EQ(Crc32c(descending), 0x113fdb5cU);
}

TEST(Crc32c, EveryLengthAtEveryAlignment) {
  std::string bytes;
  uint32_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(state >> 24));
  }
  const std::string_view all = bytes;
  for (size_t begin = 0; begin < 16; ++begin) {
    for (size_t size = 0; size <= 300; ++size) {
      const std::string_view piece = all.substr(begin, size);
      ASSERT_EQ(Crc32c(piece), ByDefinition(piece)) << begin << " " << size;
    }
  }
}

}  // namespace
}  // namespace ptrace_prof
