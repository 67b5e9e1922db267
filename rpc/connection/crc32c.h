// CRC-32C (Castagnoli), as in iSCSI and in TraceChunk.crc32c. The CRC of "123456789" is 0xe3069283.
#pragma once

#include <cstdint>
#include <string_view>

namespace ptrace_prof {

uint32_t Crc32c(std::string_view bytes);

}  // namespace ptrace_prof
