// Frames as an interpreter has them, built in the memory of a test, and the offsets that describe them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "attach/abi/gpu_boot.h"

namespace ptrace_prof {

template <typename T>
uint64_t AddressOf(const T& object) {
  return reinterpret_cast<uint64_t>(&object);
}

struct MadeCode {
  uint64_t file = 0x1000;
  uint64_t name = 0x2000;
  uint64_t qualname = 0x3000;
  uint64_t line_table = 0x4000;
  int32_t first_line = 7;
};

struct MadeFrame {
  uint64_t code = 0;
  uint64_t previous = 0;
  uint64_t instruction = 0;
  uint8_t owner = 0;
};

struct MadeThread {
  uint64_t ident = 0;
  uint64_t frame = 0;
};

inline constexpr uint8_t kNoPython = 3;

// A chain of `depth` frames, each with a code object of its own; frames[0] is the innermost.
class MadeStack {
 public:
  explicit MadeStack(size_t depth) : codes(depth), frames(depth) {
    for (size_t i = 0; i < depth; ++i) {
      codes[i].first_line = static_cast<int32_t>(i);
      frames[i].code = AddressOf(codes[i]);
      frames[i].instruction = 100 + i;
      frames[i].previous = i + 1 < depth ? AddressOf(frames[i + 1]) : 0;
    }
    thread.frame = depth > 0 ? AddressOf(frames[0]) : 0;
  }
  MadeStack(const MadeStack&) = delete;
  MadeStack& operator=(const MadeStack&) = delete;

  pp_gpu_python Python() const {
    pp_gpu_python python{};
    python.finalizing = AddressOf(finalizing);
    python.thread_ident = offsetof(MadeThread, ident);
    python.thread_frame = offsetof(MadeThread, frame);
    python.thread_cframe = python.cframe_frame = PP_GPU_NO_FIELD;
    python.frame_code = offsetof(MadeFrame, code);
    python.frame_previous = offsetof(MadeFrame, previous);
    python.frame_instruction = offsetof(MadeFrame, instruction);
    python.frame_owner = offsetof(MadeFrame, owner);
    python.no_python = kNoPython;
    python.code_filename = offsetof(MadeCode, file);
    python.code_name = offsetof(MadeCode, name);
    python.code_qualname = offsetof(MadeCode, qualname);
    python.code_line_table = offsetof(MadeCode, line_table);
    python.code_first_line = offsetof(MadeCode, first_line);
    return python;
  }

  uint64_t finalizing = 0;
  MadeThread thread;
  std::deque<MadeCode> codes;
  std::deque<MadeFrame> frames;
};

}  // namespace ptrace_prof
