// An operator of PyTorch, or a range that a program marks (record_function), as one thread ran it.
//
// What PyTorch's at::RecordFunction said, not what was concluded from it. Plain data, used by TraceWriter and
// TraceReader. All times are CLOCK_MONOTONIC of the recorded host.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

// at::RecordScope, with its numbers (ATen/record_function.h, the same from 1.13 to 2.15).
enum class OperatorScope : uint8_t {
  kFunction,
  kBackwardFunction,
  kTorchscriptFunction,
  kKernelFunctionDtype,
  kCustomClass,
  kBuildFeature,
  kLiteInterpreter,
  kUserScope,  // record_function, Optimizer.step#…, DistributedDataParallel.forward
  kStaticRuntimeOp,
  kStaticRuntimeModel,
};
inline constexpr size_t kOperatorScopes = 10;

enum class OperatorEnd : uint8_t {
  kSeen,
  kOpen,  // it was still running when the recording ended: its end is that of the recording
  kLost,  // its end fell into a gap: its end is the gap's begin
};
inline constexpr size_t kOperatorEnds = 3;

// What an operator got, each as a JSON array with one element per input, as Kineto writes them.
struct OperatorInputs {
  std::string sizes;    // [[64, 64], [], [[2], [3]]]: of a tensor, of none, of a list of tensors
  std::string strides;  // the same
  std::string types;    // ["float", "Scalar", "TensorList", ""]
  std::string values;   // ["", "1", "", "[0, 1]"]: of numbers and lists of numbers
  uint32_t number = 0;  // for a writer: the same for the same inputs, small and never used again; 0: none
};

struct Operator {
  Nanos begin;
  Nanos end;
  std::string_view name;        // "aten::mm", "Optimizer.step#Adam.step"; empty: it could not be read
  std::string_view overload;    // "Tensor" of "aten::add.Tensor"; often empty
  uint64_t handle = 0;          // unique in its process
  int64_t sequence = -1;        // autograd's number of a forward operator, and of its backward; -1: none
  uint32_t forward_thread = 0;  // of a backward operator: PyTorch's number of the thread of the forward one; 0: none
  uint32_t thread = 0;          // PyTorch's number of the own thread
  OperatorScope scope = OperatorScope::kFunction;
  OperatorEnd ending = OperatorEnd::kSeen;
  const OperatorInputs* inputs = nullptr;  // null: not recorded
  std::span<const uint64_t> storages;      // addresses of the memory of the tensors that it gets; empty: not recorded
  bool is_async = false;                   // it may have ended on another thread
  // What it allocated less what it freed, in bytes, without the operators that it called.
  int64_t cpu_memory = 0;
  int64_t device_memory = 0;  // on all devices but the CPU

  // Kineto's categories: "user_annotation", and "cpu_op" for all else.
  bool is_range() const { return scope == OperatorScope::kUserScope; }
};

}  // namespace ptrace_prof
