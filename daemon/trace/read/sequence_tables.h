// The definitions of one packet sequence so far: strings, frames, callstacks, functions and state names by their ids,
// translated into ids of the reader's StackTable.
//
// Owned by TraceReader, one per sequence. Hostile input: ids must count up from 1, as our writer assigns them, so that
// tables grow no faster than the input; the vocabulary bounds all of them together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/trace/model.h"
#include "daemon/trace/read/reader_vocabulary.h"

namespace ptrace_prof {

class SequenceTables {
 public:
  explicit SequenceTables(ReaderVocabulary& vocabulary) : vocabulary_(vocabulary) {}
  ~SequenceTables() { Clear(); }
  SequenceTables(const SequenceTables&) = delete;
  SequenceTables& operator=(const SequenceTables&) = delete;

  // Takes an InternedData message and the Extension of the same packet, either of which may be empty.
  void Define(std::string_view interned, std::string_view extension);
  std::optional<StackId> Callstack(uint64_t iid) const;
  std::optional<StateInfo> State(uint64_t iid) const;
  // In a sequence of calls: the function that an event's name stands for.
  std::optional<FrameId> Function(uint64_t iid) const;
  void Clear();

 private:
  void DefineString(std::string_view message, std::vector<std::string>& table);
  void DefineFrame(std::string_view message);
  void DefineFrameExtra(std::string_view message);
  void DefineCallstack(std::string_view message);
  void DefineState(std::string_view message);
  void DefineCalled(std::string_view message);
  void DefineCalledExtra(std::string_view message);

  ReaderVocabulary& vocabulary_;
  std::vector<std::string> functions_;  // [iid - 1], as all tables here
  std::vector<std::string> files_;
  std::vector<std::optional<FrameId>> frames_;  // without a value: stands for an empty stack
  std::vector<std::optional<StackId>> callstacks_;
  std::vector<StateInfo> states_;
  std::vector<FrameId> called_;
  // Frames of the current packet, complete only when its extension has been read.
  std::vector<Frame> new_frames_;
  std::vector<bool> new_no_stack_;
  std::vector<Frame> new_called_;
  size_t charged_ = 0;
};

}  // namespace ptrace_prof
