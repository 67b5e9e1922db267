// What is kept of each thread of a target: found by its thread state and its kernel thread together.
//
// A thread state's address alone is not enough: a new thread gets that of one that ended, and what the old one left in
// its ring may be read after what the new one did. Nothing is ever taken out: a thread that is over stays, behind those
// that came later. Owned by the tracer; one thread.
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
  // The one that came last; null: there is none. One that was put in when its kernel thread was not known belongs to
  // the first that asks for its state.
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

  // `tid`: null where it is not known.
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
  std::unordered_map<uint64_t, std::vector<Entry>> rows_;  // by thread state, in the order in which they came
  size_t size_ = 0;
};

}  // namespace ptrace_prof
