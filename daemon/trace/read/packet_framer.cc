#include "daemon/trace/read/packet_framer.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxHeader = 1 + 10;

Error Damaged(uint64_t offset, std::string_view what) {
  return Error{Code::kDataLoss, fmt::format("the trace is damaged at byte {}: {}", offset, what),
               "the data before that byte is valid; if the file should be complete, copy or record it again"};
}

}  // namespace

Result<size_t> PacketFramer::Measure(std::string_view bytes) const {
  if (bytes.empty()) {
    return size_t{0};
  }
  if (bytes[0] != kPacketTag) {
    return Damaged(offset_, "no packet begins there");
  }
  std::string_view rest = bytes.substr(1);
  uint64_t size = 0;
  if (!WireDecoder::ReadVarint(rest, size)) {
    return bytes.size() < kMaxHeader ? Result<size_t>(size_t{0}) : Damaged(offset_, "a packet has no length");
  }
  if (size > kMaxPacket) {
    return Damaged(offset_, fmt::format("a packet claims {} bytes, the limit is {}", size, kMaxPacket));
  }
  return bytes.size() - rest.size() + size;
}

Result<bool> PacketFramer::Complete(std::string_view& bytes) {
  PP_ASSIGN_OR_RETURN(size_t whole, Measure(pending_));
  while (whole == 0) {
    if (bytes.empty()) {
      return false;
    }
    pending_.push_back(bytes.front());
    bytes.remove_prefix(1);
    PP_ASSIGN_OR_RETURN(whole, Measure(pending_));
  }
  // Does not reserve the whole size, because the length is not trusted.
  const size_t missing = std::min(whole - pending_.size(), bytes.size());
  pending_.append(bytes.substr(0, missing));
  bytes.remove_prefix(missing);
  return pending_.size() == whole;
}

std::string_view PacketFramer::Take(std::string_view& bytes, size_t whole) {
  std::string_view packet = bytes.substr(0, whole);
  bytes.remove_prefix(whole);
  uint64_t size = 0;
  packet.remove_prefix(1);
  WireDecoder::ReadVarint(packet, size);
  return packet;
}

}  // namespace ptrace_prof
