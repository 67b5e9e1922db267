#include "daemon/collector/target/interpreter_watch.h"

#include <cstring>

namespace ptrace_prof {
namespace {

constexpr uint32_t kWord = 8;

}  // namespace

template <typename T>
T InterpreterWatch::Load(RemoteAddr address) const {
  T value{};
  if (const std::byte* bytes = plan_.Find(address.value, sizeof value)) {
    std::memcpy(&value, bytes, sizeof value);
  }
  return value;
}

void InterpreterWatch::Follow(const std::vector<InterpreterEntry>& entries) {
  is_unread_ = true;
  interpreters_.clear();
  gils_.clear();
  plan_.Clear();
  if (layout_.Has(&Layout::runtime_gc_collecting)) {
    plan_.Add(runtime_ + layout_.runtime_gc_collecting, kWord);
  }
  for (const InterpreterEntry& entry : entries) {
    InterpreterView view{.entry = entry};
    plan_.Add(entry.address + layout_.interp_threads_head, kWord);
    if (layout_.Has(&Layout::interp_gc_collecting)) {
      plan_.Add(entry.address + layout_.interp_gc_collecting, kWord);
    }
    if (layout_.Has(&Layout::interp_code_generation)) {
      plan_.Add(entry.address + layout_.interp_code_generation, kWord);
    }
    if (!entry.gil.IsNull()) {
      for (size_t i = 0; i < gils_.size() && view.gil == SIZE_MAX; ++i) {
        view.gil = gils_[i].address == entry.gil ? i : SIZE_MAX;
      }
      if (view.gil == SIZE_MAX) {
        view.gil = gils_.size();
        gils_.push_back({.address = entry.gil});
        plan_.Add(entry.gil, layout_.gil_switch_number + kWord);
      }
    }
    interpreters_.push_back(view);
  }
  plan_.Seal();
}

bool InterpreterWatch::IsEnabled(const GilView& gil) const {
  return !layout_.Has(&Layout::gil_enabled) || Load<int32_t>(gil.address + layout_.gil_enabled) == kGilForGood;
}

void InterpreterWatch::UpdateGil(GilView& gil) {
  const uint64_t switches = Load<uint64_t>(gil.address + layout_.gil_switch_number);
  gil.moved = gil.holder == 0 || !gil.is_enabled ? UINT64_MAX : switches - gil.switches;
  gil.is_enabled = IsEnabled(gil);
  gil.switches = switches;
  gil.holder = Load<uint64_t>(gil.address + layout_.gil_last_holder);
  gil.locked = Load<int32_t>(gil.address + layout_.gil_locked) == 1;
}

bool InterpreterWatch::Update() {
  bool changed = false;
  is_unread_ = false;
  code_generation_ = 0;
  for (GilView& gil : gils_) {
    UpdateGil(gil);
  }
  for (InterpreterView& view : interpreters_) {
    const uint64_t threads = Load<uint64_t>(view.entry.address + layout_.interp_threads_head);
    changed = changed || threads != view.threads_head;
    view.threads_head = threads;
    view.collecting = layout_.Has(&Layout::interp_gc_collecting)
                          ? Load<int32_t>(view.entry.address + layout_.interp_gc_collecting) == 1
                          : layout_.Has(&Layout::runtime_gc_collecting) &&
                                Load<int32_t>(runtime_ + layout_.runtime_gc_collecting) == 1;
    if (layout_.Has(&Layout::interp_code_generation)) {
      code_generation_ += Load<uint64_t>(view.entry.address + layout_.interp_code_generation);
    }
  }
  return changed;
}

const GilView* InterpreterWatch::gil_of(size_t interpreter) const {
  const size_t gil = interpreters_[interpreter].gil;
  return gil == SIZE_MAX || !gils_[gil].is_enabled ? nullptr : &gils_[gil];
}

}  // namespace ptrace_prof
