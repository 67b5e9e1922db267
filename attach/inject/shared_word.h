// Access to words of memory that a target also writes: each access is atomic, with acquire or release order.
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
