#include "daemon/trace/piece_codec.h"

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {

void EncodeWindow(const TimeRange& window, WireEncoder& out) {
  out.SignedVarint(trace::Window::kBeginNsFieldNumber, window.begin.value);
  out.SignedVarint(trace::Window::kEndNsFieldNumber, window.end.value);
}

TimeRange DecodeWindow(std::string_view message) {
  TimeRange window;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Window::kBeginNsFieldNumber: window.begin.value = field.AsSigned(); break;
      case trace::Window::kEndNsFieldNumber: window.end.value = field.AsSigned(); break;
      default: break;
    }
  }
  return window;
}

void EncodeExecutionTrace(const ExecutionTracePiece& piece, WireEncoder& out) {
  out.SignedVarint(trace::ExecutionTracePiece::kPidFieldNumber, piece.pid.value);
  out.Bytes(trace::ExecutionTracePiece::kTextFieldNumber, piece.text);
}

ExecutionTracePiece DecodeExecutionTrace(std::string_view message) {
  ExecutionTracePiece piece;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::ExecutionTracePiece::kPidFieldNumber: piece.pid = Pid(static_cast<int32_t>(field.value)); break;
      case trace::ExecutionTracePiece::kTextFieldNumber: piece.text = field.bytes; break;
      default: break;
    }
  }
  return piece;
}

}  // namespace ptrace_prof
