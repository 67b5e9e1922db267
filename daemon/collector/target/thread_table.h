// Table of a target's threads, keyed by thread state and kernel thread together.
//
// The address of a thread state is not enough: a new thread may get that of one that ended, and the old thread's ring
// may be read after the new one's events. Entries are never removed: an ended thread stays behind later ones. Owned by
// the tracer; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

template <typename T>
class ThreadTable {
 public:
  // Returns the latest entry; null: there is none. An entry whose kernel thread was not known belongs to the first one
  // that looks up its state.
  T* Find(RemoteAddr state, Tid tid) {
    const auto row = rows_.find(state.value);
    if (row == rows_.end()) {
      return nullptr;
    }
    for (auto entry = row->second.rbegin(); entry != row->second.rend(); ++entry) {
      if (entry->tid == tid || entry->tid == Tid()) {
        entry->tid = tid;
        return entry->value.get();
      }
    }
    return nullptr;
  }

  // `tid`: null if it is not known.
  T& Put(RemoteAddr state, Tid tid, std::unique_ptr<T> value) {
    ++size_;
    return *rows_[state.value].emplace_back(tid, std::move(value)).value;
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [state, entries] : rows_) {
      for (const Entry& entry : entries) {
        visit(*entry.value);
      }
    }
  }
  size_t size() const { return size_; }

 private:
  struct Entry {
    Entry(Tid of, std::unique_ptr<T> what) : tid(of), value(std::move(what)) {}
    Tid tid;
    std::unique_ptr<T> value;
  };
  std::unordered_map<uint64_t, std::vector<Entry>> rows_;  // by thread state, in order of arrival
  size_t size_ = 0;
};

}  // namespace ptrace_prof
