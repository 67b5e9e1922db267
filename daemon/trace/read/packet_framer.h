// Cuts a byte stream, given in pieces of any size, into the packets of a Perfetto trace.
//
// A packet that is whole in one piece is passed on without a copy; only a split packet is copied. Memory: at most one
// packet. Bytes are hostile: a packet longer than kMaxPacket is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace ptrace_prof {

class PacketFramer {
 public:
  static constexpr size_t kMaxPacket = 16 * 1024 * 1024;

  // Calls on_packet(std::string_view) -> Result<void> for every whole packet; its error ends the call.
  template <typename OnPacket>
  Result<void> Feed(std::string_view bytes, OnPacket on_packet) {
    while (!bytes.empty()) {
      std::string_view packet;
      if (pending_.empty()) {
        if (const size_t size = ShortPacket(bytes); size > 0) {
          PP_RETURN_IF_ERROR(on_packet(bytes.substr(kShortHeader, size - kShortHeader)));
          bytes.remove_prefix(size);
          offset_ += size;
          continue;
        }
        PP_ASSIGN_OR_RETURN(const size_t whole, Measure(bytes));
        if (whole == 0 || whole > bytes.size()) {
          pending_.assign(bytes);
          return {};
        }
        packet = Take(bytes, whole);
        PP_RETURN_IF_ERROR(on_packet(packet));
        offset_ += whole;
        continue;
      }
      PP_ASSIGN_OR_RETURN(const bool complete, Complete(bytes));
      if (!complete) {
        return {};
      }
      std::string_view rest = pending_;
      packet = Take(rest, pending_.size());
      PP_RETURN_IF_ERROR(on_packet(packet));
      offset_ += pending_.size();
      pending_.clear();
    }
    return {};
  }

  bool mid_packet() const { return !pending_.empty(); }
  uint64_t offset() const { return offset_; }  // of the current packet, or of the next one

 private:
  static constexpr char kPacketTag = 0x0a;  // Trace.packet
  static constexpr size_t kShortHeader = 2;

  // A fast path for nearly all packets of exact calls, which come at millions per second. Returns the same as Measure
  // for a whole packet at the front with a length of one byte; 0 for others.
  static size_t ShortPacket(std::string_view bytes) {
    if (bytes.size() < kShortHeader || bytes[0] != kPacketTag || static_cast<unsigned char>(bytes[1]) >= 0x80) {
      return 0;
    }
    const size_t whole = kShortHeader + static_cast<unsigned char>(bytes[1]);
    return whole <= bytes.size() ? whole : 0;
  }
  // The size of the first packet with its header; 0 if the header is not whole yet.
  Result<size_t> Measure(std::string_view bytes) const;
  // Moves bytes from the front of `bytes` to pending_ until that holds one packet; false if they run out before.
  Result<bool> Complete(std::string_view& bytes);
  // Removes `whole` bytes from the front, and returns them without the header.
  static std::string_view Take(std::string_view& bytes, size_t whole);

  std::string pending_;
  uint64_t offset_ = 0;
};

}  // namespace ptrace_prof
