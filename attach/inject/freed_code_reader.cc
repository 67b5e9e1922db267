#include "attach/inject/freed_code_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attach/inject/shared_word.h"

namespace ptrace_prof {
namespace {

// The target may have put anything there, so text that is not printable is dropped.
std::string TextOf(std::span<const uint8_t> tail, size_t length) {
  const auto characters = tail.first(std::min(length, tail.size()));
  if (std::ranges::any_of(characters, [](uint8_t one) { return one < 0x20 || one > 0x7e; })) {
    return {};
  }
  return (length > tail.size() ? "…" : "") + std::string(characters.begin(), characters.end());
}

}  // namespace

bool FreedCodeReader::is_reported() const { return Load(head_->watches_code) != 0; }

uint64_t FreedCodeReader::Unsure() const { return PP_AS_WHEN(Load(head_->freed_unsure)); }

bool FreedCodeReader::HasMore() const { return Load(head_->freed) != taken_ || Unsure() != unsure_; }

FreedCode FreedCodeReader::EntryAt(uint64_t number) const {
  pp_freed& entry = table_[number % PP_FREED_ENTRIES];
  FreedCode freed{RemoteAddr(Load(entry.code)), PP_AS_WHEN(Load(entry.when))};
  freed.first_line = Load(entry.first_line);
  freed.is_type = freed.first_line == PP_FREED_TYPE;
  freed.name = TextOf(entry.name, Load(entry.name_length));
  freed.file = TextOf(entry.file, Load(entry.file_length));
  return freed;
}

bool FreedCodeReader::Take(std::vector<FreedCode>* freed, uint64_t* unsure) {
  const uint64_t reported_unsure = Unsure();
  const uint64_t end = Load(head_->freed);
  const bool is_sane = end - taken_ < PP_FREED_ENTRIES;
  const size_t before = freed->size();
  for (; is_sane && taken_ != end; ++taken_) {
    freed->push_back(EntryAt(taken_));
  }
  taken_ = end;
  // An entry is written before it is counted, so the entry being written may also have overwritten one meanwhile.
  const bool is_overwritten = !is_sane || Load(head_->freed) - (end - (freed->size() - before)) >= PP_FREED_ENTRIES;
  const bool is_unsure = std::exchange(unsure_, reported_unsure) != reported_unsure;
  if (!is_overwritten && !is_unsure) {
    return true;
  }
  freed->resize(before);
  *unsure = std::max(reported_unsure, EntryAt(taken_ - 1).when);
  return false;
}

}  // namespace ptrace_prof
