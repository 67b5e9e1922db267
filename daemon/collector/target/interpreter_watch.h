// The few words per interpreter that every sample needs: thread list head, GIL, garbage collection, code generation.
//
// They are read in the same batch as the stacks. A thread's Python frames change only while it holds the GIL. So if the
// GIL's switch counter did not change, only the last holder's stack can have changed; if it grew by one, only the old
// and the new holder's. That makes 63 sleeping threads free. (CPython: Python/ceval_gil.c, take_gil increments
// switch_number when the holder changes.) One per process; same thread as the sampler.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/read_plan.h"

namespace ptrace_prof {

struct GilView {
  RemoteAddr address;
  uint64_t holder = 0;      // PyThreadState* that holds it or held it last
  bool is_enabled = false;  // in use: a free-threaded build may have the GIL switched on for good
  bool locked = false;
  uint64_t switches = 0;
  uint64_t moved = UINT64_MAX;  // switches since the last sample; UINT64_MAX: not known
};

struct InterpreterView {
  InterpreterEntry entry;
  size_t gil = SIZE_MAX;  // index into gils(); SIZE_MAX: none
  uint64_t threads_head = 0;
  bool collecting = false;
};

class InterpreterWatch {
 public:
  InterpreterWatch(const Layout& layout, RemoteAddr runtime) : layout_(layout), runtime_(runtime) {}

  void Follow(const std::vector<InterpreterEntry>& entries);
  void AppendRequests(std::vector<ReadRequest>* batch) { plan_.AppendRequests(batch); }
  // Call after the batch was read. True: some thread list has a new head. New interpreters are found when the roster is
  // refreshed.
  bool Update();
  // The followed words were not read yet, so it is not known which GILs are in use.
  bool is_unread() const { return is_unread_; }

  const std::vector<InterpreterView>& interpreters() const { return interpreters_; }
  // Null: the threads of that interpreter run without a GIL.
  const GilView* gil_of(size_t interpreter) const;
  const std::vector<GilView>& gils() const { return gils_; }
  uint64_t code_generation() const { return code_generation_; }  // sum over interpreters; 0 if there is none

 private:
  template <typename T>
  T Load(RemoteAddr address) const;
  bool IsEnabled(const GilView& gil) const;
  void UpdateGil(GilView& gil);

  const Layout& layout_;
  const RemoteAddr runtime_;
  ReadPlan plan_;
  std::vector<InterpreterView> interpreters_;
  std::vector<GilView> gils_;
  uint64_t code_generation_ = 0;
  bool is_unread_ = true;
};

}  // namespace ptrace_prof
