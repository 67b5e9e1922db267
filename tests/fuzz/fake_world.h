// A small CPython in a FakeMemory, built by a Layout: two interpreters, threads, frames, code, strings.
//
// It is valid when built; ApplyPatches then corrupts it as the fuzzer's input says.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "symbolizer/cpython/layout.h"
#include "tests/fuzz/fake_memory.h"

namespace ptrace_prof {

class FakeWorld {
 public:
  static constexpr uint64_t kInterpreters = 2, kThreads = 4, kFrames = 64, kCodes = 16, kStrings = 16;

  FakeWorld(const Layout& layout, FakeMemory& memory) : layout_(layout), memory_(memory) { Build(); }

  static RemoteAddr runtime() { return RemoteAddr(FakeMemory::kBase); }
  static RemoteAddr Interpreter(uint64_t i) { return runtime() + 8192 * (1 + i % kInterpreters); }
  static RemoteAddr Thread(uint64_t i) { return runtime() + 24576 + 1024 * (i % kThreads); }
  static RemoteAddr Frame(uint64_t i) { return runtime() + 28672 + 512 * (i % kFrames); }
  static RemoteAddr CodeObject(uint64_t i) { return runtime() + 61440 + 1024 * (i % kCodes); }
  static RemoteAddr String(uint64_t i) { return runtime() + 77824 + 512 * (i % kStrings); }
  static RemoteAddr LineTable() { return runtime() + 86016; }
  static RemoteAddr ControlFrame(uint64_t i) { return runtime() + 87040 + 64 * (i % kThreads); }
  static RemoteAddr Type(uint64_t i) { return runtime() + 88064 + 1024 * (i % 2); }

  // Records of {where: u16, how: u8, value: u8 or u64}.
  void ApplyPatches(std::span<const uint8_t> input);

 private:
  template <typename T>
  void Put(RemoteAddr object, uint32_t offset, T value) {
    if (offset != kAbsent) {
      memory_.Put(object.value + offset, value);
    }
  }
  void PutAddress(RemoteAddr object, uint32_t offset, RemoteAddr value) { Put(object, offset, value.value); }
  void Build();
  void BuildInterpreter(uint64_t i);
  void BuildThread(uint64_t i);
  void BuildFrame(uint64_t i);
  void BuildCode(uint64_t i);
  void BuildStrings();

  const Layout& layout_;
  FakeMemory& memory_;
};

inline void FakeWorld::Build() {
  PutAddress(runtime(), layout_.runtime_interpreters_head, Interpreter(0));
  PutAddress(runtime(), layout_.runtime_interpreters_main, Interpreter(1));
  for (uint64_t i = 0; i < kInterpreters; ++i) BuildInterpreter(i);
  for (uint64_t i = 0; i < kThreads; ++i) BuildThread(i);
  for (uint64_t i = 0; i < kFrames; ++i) BuildFrame(i);
  for (uint64_t i = 0; i < kCodes; ++i) BuildCode(i);
  BuildStrings();
}

inline void FakeWorld::BuildInterpreter(uint64_t i) {
  const RemoteAddr self = Interpreter(i);
  PutAddress(self, layout_.interp_next, i + 1 < kInterpreters ? Interpreter(i + 1) : RemoteAddr(0));
  Put(self, layout_.interp_id, int64_t(kInterpreters - 1 - i));
  PutAddress(self, layout_.interp_threads_head, Thread(i * 2));
  PutAddress(self, layout_.interp_gil_pointer, self + 4096);
}

inline void FakeWorld::BuildThread(uint64_t i) {
  const RemoteAddr self = Thread(i);
  PutAddress(self, layout_.thread_next, i % 2 == 0 ? Thread(i + 1) : RemoteAddr(0));
  PutAddress(self, layout_.thread_interp, Interpreter(i / 2));
  PutAddress(self, layout_.thread_frame, Frame(i * 16));
  PutAddress(self, layout_.thread_cframe, ControlFrame(i));
  PutAddress(ControlFrame(i), layout_.cframe_current_frame, Frame(i * 16));
  PutAddress(self, layout_.thread_base_frame, Frame(i * 16 + 15));
  PutAddress(self, layout_.thread_id, runtime() + 94208);
  Put(self, layout_.thread_native_id, uint64_t{100 + i});
}

inline void FakeWorld::BuildFrame(uint64_t i) {
  const RemoteAddr self = Frame(i);
  const RemoteAddr code = CodeObject(i);
  PutAddress(self, layout_.frame_code, code);
  PutAddress(self, layout_.frame_previous, i % 16 < 15 ? Frame(i + 1) : RemoteAddr(0));
  if (layout_.instruction == InstructionKind::kLastiBytes || layout_.instruction == InstructionKind::kLastiUnits) {
    Put(self, layout_.frame_instruction, int32_t(2 * i));
  } else {
    PutAddress(self, layout_.frame_instruction, code + (layout_.code_instructions + 2 * i));
  }
}

inline void FakeWorld::BuildCode(uint64_t i) {
  const RemoteAddr self = CodeObject(i);
  PutAddress(self, layout_.object_type, Type(0));
  Put(self, layout_.var_size, int64_t{100});
  for (uint32_t field : {layout_.code_filename, layout_.code_name, layout_.code_qualname}) {
    PutAddress(self, field, String(i));
  }
  for (uint32_t field : {layout_.code_line_table, layout_.code_bytes}) PutAddress(self, field, LineTable());
  Put(self, layout_.code_first_line, int32_t(10 * i));
}

inline void FakeWorld::BuildStrings() {
  for (uint64_t i = 0; i < kStrings; ++i) {
    PutAddress(String(i), layout_.object_type, Type(1));
    Put(String(i), layout_.string_length, int64_t{5});
    Put(String(i), layout_.string_state,
        uint32_t{1u << layout_.string_kind_shift | 3u << (layout_.string_kind_shift + 3)});
    Put(String(i), layout_.string_ascii_data, uint64_t{0x6f6c6c6568});
  }
  Put(LineTable(), layout_.bytes_size, int64_t{200});
  for (uint32_t i = 0; i < 200; ++i) Put(LineTable(), layout_.bytes_data + i, uint8_t(i % 2 == 0 ? 0x80 | i : i));

  // "code", at the place where a type's name is read.
  memory_.Put(String(15).value + 400, uint64_t{0x65646f63});
  PutAddress(Type(0), layout_.type_name, String(15) + 400);
}

inline void FakeWorld::ApplyPatches(std::span<const uint8_t> input) {
  constexpr uint64_t kWords = 90112 / 8;
  while (input.size() >= 4) {
    const uint64_t where = FakeMemory::kBase + (uint64_t{input[0]} << 8 | input[1]) % kWords * 8;
    const uint8_t how = input[2];
    uint64_t value = input[3];
    input = input.subspan(4);
    if (how % 4 == 0 && input.size() >= 8) {
      std::memcpy(&value, input.data(), 8);
      input = input.subspan(8);
    } else if (how % 4 == 1) {
      value = FakeMemory::kBase + (value << 8 | how >> 2) % kWords * 8;
    } else if (how % 4 == 2) {
      value = uint64_t{1} << value % 64;
    }
    memory_.Put(where, value);
  }
}

}  // namespace ptrace_prof
