// Encodes the counters of an accounting as fields of extension.proto, and decodes them; used by the codecs of both
// accountings. Stateless.
#pragma once

#include "daemon/trace/counters.h"
#include "daemon/trace/wire_decoder.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

inline void PutCounter(int field, uint64_t count, WireEncoder& out) { out.VarintIfSet(field, count); }
inline void PutCounter(int field, Nanos time, WireEncoder& out) {
  out.VarintIfSet(field, static_cast<uint64_t>(time.value));
}
inline void PutCounter(int field, double rate, WireEncoder& out) { out.DoubleIfSet(field, rate); }

inline void TakeCounter(const WireField& field, uint64_t& count) { count = field.value; }
inline void TakeCounter(const WireField& field, Nanos& time) { time.value = field.AsSigned(); }
inline void TakeCounter(const WireField& field, double& rate) { rate = field.AsDouble(); }

template <typename Totals>
void EncodeCounters(const Totals& totals, WireEncoder& out) {
  for (const auto& counter : CountersOf(totals)) {
    std::visit([&](auto member) { PutCounter(counter.field, totals.*member, out); }, counter.member);
  }
}

// Ignores other fields.
template <typename Totals>
void DecodeCounter(const WireField& field, Totals& totals) {
  for (const auto& counter : CountersOf(totals)) {
    if (field.number == static_cast<uint32_t>(counter.field)) {
      std::visit([&](auto member) { TakeCounter(field, totals.*member); }, counter.member);
    }
  }
}

}  // namespace ptrace_prof
