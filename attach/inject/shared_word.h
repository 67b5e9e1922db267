// Words of memory that a target writes, too: each access is whole, and orders what stands around it.
#pragma once

#include <atomic>

namespace ptrace_prof {

template <typename T>
T Load(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}

template <typename T>
void Store(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}

}  // namespace ptrace_prof
