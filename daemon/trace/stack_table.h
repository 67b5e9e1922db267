// Interned frames and stacks, used by the collector and by every reader.
//
// A Frame is (function, file, line, columns, kind). A stack is a node of a prefix tree: (parent, frame), parents before
// children, with kEmptyStack as the root of every stack. Interning an equal frame or stack again returns the same id.
// Plain data, independent of processes, CPython and files. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

using FrameId = StrongId<struct FrameIdTag, uint32_t>;
using StackId = StrongId<struct StackIdTag, uint32_t>;

inline constexpr StackId kEmptyStack{0};

enum class FrameKind : uint8_t {
  kPython,
  kMarker,  // not a function of the target: "<GC>", "[truncated]"; file is empty
  kC,       // a function that is not Python code: "len", "dict.update"; file is empty
  kModule,  // the call of one nn.Module: "nn.Module: Linear_0 (layers.3.attn)"
};

// The leaf of a stack whose rest could not be read, and the root of one that was too deep.
inline constexpr std::string_view kTruncatedMarker = "[truncated]";
// The leaf of a stack that changed while it was read without a stop; the unchanged part is below it.
inline constexpr std::string_view kTornMarker = "[torn]";
// Code that was freed before its name could be read.
inline constexpr std::string_view kGoneMarker = "[code that is gone]";
// The leaf of a thread that is collecting garbage.
inline constexpr std::string_view kGcMarker = "<GC>";

struct Frame {
  std::string function;  // qualified name if the interpreter has one
  std::string file;      // from the code object (co_filename)
  int32_t line = 0;      // 1-based; 0 = unknown
  int32_t end_line = 0;
  int32_t column = -1;  // 0-based byte columns; -1 = unknown
  int32_t end_column = -1;
  int32_t first_line = 0;  // line of the def
  FrameKind kind = FrameKind::kPython;

  bool operator==(const Frame&) const = default;
};

class StackTable {
 public:
  StackTable();
  ~StackTable();
  StackTable(StackTable&&) noexcept;
  StackTable& operator=(StackTable&&) noexcept;

  FrameId InternFrame(const Frame& frame);
  StackId InternStack(StackId parent, FrameId frame);

  const Frame& frame(FrameId id) const;
  StackId parent(StackId id) const;  // id != kEmptyStack
  FrameId leaf(StackId id) const;    // id != kEmptyStack
  uint32_t depth(StackId id) const;  // 0 for kEmptyStack
  size_t frame_count() const;
  size_t stack_count() const;  // without kEmptyStack

  // Clears the table; all ids become invalid. `generation` changes, so that holders of ids notice.
  void Clear();
  uint32_t generation() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof
