// Sentences about missing data, for those counters that are not 0. Part of CautionsOf (recording.h); stateless.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "daemon/export/number_text.h"
#include "daemon/trace/counters.h"

namespace ptrace_prof {

template <typename Totals>
void AddCounterCautions(const Totals& totals, std::vector<std::string>& cautions) {
  for (const auto& counter : CountersOf(totals)) {
    if (const uint64_t count = counter.CountIn(totals); count > 0 && !counter.traits.caution.empty()) {
      cautions.push_back(fmt::format(fmt::runtime(counter.traits.caution), WithCommas(count)));
    }
  }
}

}  // namespace ptrace_prof
