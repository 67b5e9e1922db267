#include "daemon/export/memory_report.h"

#include <fmt/format.h>

#include "daemon/export/number_text.h"

namespace ptrace_prof {

void MemoryReport::Finish() {
  ledger_.Finish();
  device_ = MainDeviceOf(ledger_);
  events_ = MemoryEventsOf(ledger_, device_);
  curve_ = MemoryCurveOf(events_);
  peak_ = PeakOf(ledger_, device_, curve_, threads_, stacks_);
}

std::vector<std::string> MemoryReport::Notes() const {
  std::vector<std::string> notes;
  if (is_empty()) {
    notes.emplace_back("The trace has no memory of PyTorch: record with --profile-memory --record-shapes.");
  } else if (!ledger_.has_storages()) {
    notes.emplace_back(
        "Only what models and optimizers hold has a category: record with --record-shapes, too, for the others.");
  }
  if (ledger_.left_out() > 0) {
    notes.push_back(fmt::format("{} events had no room: shorten the recording.", WithCommas(ledger_.left_out())));
  }
  if (const uint64_t lost = recording_.accounting.value_or(Accounting()).operators_lost; lost > 0) {
    notes.push_back(
        fmt::format("{} events of PyTorch were lost while it was recorded: memory may be wrong from then "
                    "on. Record with a larger --buffer.",
                    WithCommas(lost)));
  }
  return notes;
}

}  // namespace ptrace_prof
