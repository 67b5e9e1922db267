// A CPython process that exists only in this test: thread state, frames and code objects in a fake address space.
//
// Its layout has small offsets of its own, so readers that work must have used Layout. `on_read` is called before each
// batch and may change the memory, as a running target would between our reads.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

class FakePython final : public RemoteMemory {
 public:
  static constexpr uint64_t kBase = 0x10000;
  static constexpr uint64_t kSize = 1 << 20;

  FakePython() : bytes_(kSize) {
    Layout& l = layout;
    l.instruction = InstructionKind::kInstrPtr;
    l.thread_next = 0, l.thread_interp = 8, l.thread_frame = 16, l.thread_id = 24, l.thread_size = 32;
    l.frame_code = 0, l.frame_previous = 8, l.frame_instruction = 16, l.frame_owner = 24, l.frame_size = 32;
    l.owner_no_python = 3;
    l.object_type = 8, l.var_size = 16, l.code_filename = 24, l.code_name = 32, l.code_qualname = 40;
    l.code_line_table = 48, l.code_first_line = 56, l.code_flags = 60, l.code_size = 64, l.code_instructions = 64;
    l.type_name = 24, l.bytes_size = 16, l.bytes_data = 32;
    l.string_length = 16, l.string_state = 32, l.string_ascii_data = 40, l.string_compact_data = 56;
    l.string_kind_shift = 2;
    code_type = Allocate(64);
    interpreter = Allocate(64);
    state = Allocate(64);
    Put(state + 8, interpreter.value);
  }

  RemoteAddr Allocate(size_t size) {
    const RemoteAddr at(kBase + used_);
    used_ += (size + 63) & ~size_t{63};
    return at;
  }
  template <typename T>
  void Put(RemoteAddr at, T value) {
    std::memcpy(&bytes_[at.value - kBase], &value, sizeof value);
  }

  RemoteAddr AddString(const std::string& text) {
    const RemoteAddr at = Allocate(48 + text.size());
    Put(at + 16, uint64_t{text.size()});
    Put(at + 32, uint32_t{(1 << 2) | (1 << 5) | (1 << 6)});  // kind 1, compact, ascii
    std::memcpy(&bytes_[at.value + 40 - kBase], text.data(), text.size());
    return at;
  }
  // 64 code units; the line table says "no line" for all of them.
  RemoteAddr AddCode(const std::string& name) {
    const RemoteAddr at = Allocate(64 + 128);
    FillCode(at, name);
    return at;
  }
  void FillCode(RemoteAddr at, const std::string& name) {
    Put(at + 8, code_type.value);
    Put(at + 16, uint64_t{64});
    Put(at + 24, AddString("file.py").value);
    Put(at + 32, AddString(name).value);
    Put(at + 40, AddString(name).value);
    Put(at + 48, Allocate(40).value);
    Put(at + 56, int32_t{10});
  }
  // A frame at `at`, executing unit `unit` of `code`.
  void PutFrame(RemoteAddr at, RemoteAddr previous, RemoteAddr code, uint32_t unit, uint8_t owner = 0) {
    Put(at, code.value);
    Put(at + 8, previous.value);
    Put(at + 16, (code + layout.code_instructions + unit * 2).value);
    Put(at + 24, owner);
  }
  void SetCurrent(RemoteAddr frame) { Put(state + 16, frame.value); }

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    const ReadRequest request{from, to, static_cast<uint32_t>(size)};
    size_t filled = 0;
    return ReadBatch({&request, 1}, &filled);
  }
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override {
    ++batches;
    if (on_read) {
      on_read(*this);
    }
    *filled = 0;
    for (const ReadRequest& request : requests) {
      if (request.from.value < kBase || request.from.value + request.size > kBase + kSize) {
        return ReadStatus::kFault;
      }
      std::memcpy(request.to, &bytes_[request.from.value - kBase], request.size);
      ++*filled;
    }
    return ReadStatus::kOk;
  }

  Layout layout;
  RemoteAddr code_type, interpreter, state;
  std::function<void(FakePython&)> on_read;
  size_t batches = 0;

 private:
  std::vector<std::byte> bytes_;
  size_t used_ = 0;
};

}  // namespace ptrace_prof
