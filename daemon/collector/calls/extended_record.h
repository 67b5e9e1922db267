// An extended record of a traced thread (attach/abi/record.h), assembled from the pieces in which a ring is read.
//
//   nothing ◄──Drop── open ◄──Begin── nothing        open ──Take, of all its units──► whole ──Begin──► open
//
// Its bytes come from the target: whatever its length says, at most PP_MAX_UNITS records are taken as payload. One per
// thread of the target, owned by its CallReplayer; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "attach/abi/record.h"

namespace ptrace_prof {

class ExtendedRecord {
 public:
  // `head` has PP_TAG_EXTENDED. False: the record is invalid and not open.
  bool Begin(const pp_record& head) {
    head_ = head;
    taken_ = 0;
    is_open_ = PP_EXTENDED_UNITS(head.value) <= PP_MAX_UNITS;
    return is_open_;
  }
  // Takes missing units from the records that follow; returns their number. Precondition: it is open.
  size_t Take(std::span<const pp_record> next) {
    const size_t count = std::min<size_t>(PP_EXTENDED_UNITS(head_.value) - taken_, next.size());
    if (count > 0) {
      std::memcpy(payload_.data() + taken_, next.data(), count * sizeof(pp_unit));
    }
    taken_ += count;
    is_open_ = taken_ < PP_EXTENDED_UNITS(head_.value);
    return count;
  }
  // Ends the record. True: some of it was missing.
  bool Drop() {
    const bool was_open = is_open_;
    is_open_ = false;
    return was_open;
  }

  bool is_open() const { return is_open_; }  // units are missing
  uint64_t when() const { return PP_WHEN(head_.when_tag); }
  uint32_t kind() const { return PP_EXTENDED_KIND(head_.value); }
  uint32_t word() const { return PP_EXTENDED_WORD(head_.value); }
  std::span<const pp_unit> payload() const { return std::span(payload_).first(taken_); }

 private:
  pp_record head_{};
  size_t taken_ = 0;
  bool is_open_ = false;
  std::array<pp_unit, PP_MAX_UNITS> payload_{};
};

}  // namespace ptrace_prof
