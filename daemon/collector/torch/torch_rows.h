// The known layouts of PyTorch's at::RecordFunction, and which of them a process has.
//
// A row is chosen by trying all of them on copies of real objects. A row that is wrong for the process shows by fields
// that cannot be: then nothing is read through it in the target. Rows marked as derived follow from a measured one by
// the size of std::string.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct TorchRow {
  std::string_view versions;  // for people
  pp_torch_row fields;
};

std::span<const TorchRow> TorchRows();
// The known layouts of c10::TensorImpl: the hook chooses among them by itself.
std::span<const pp_torch_tensor> TensorRows();
// pp_torch_row.forward_thread of PyTorch 2.0 and later.
uint32_t ForwardThreadSince2(bool has_old_strings);

// What a copied object says according to a row; nullopt: it cannot be such an object.
struct RawOperator {
  uint64_t function = 0;  // address of its schema; null: it has a name
  std::string name;       // of a range, or of the schema
  std::string overload;   // of the schema
  uint64_t handle = 0;
  int64_t sequence = 0;
  uint32_t forward_thread = 0;
  uint8_t scope = 0;
  bool is_async = false;
};
std::optional<RawOperator> ReadRaw(const pp_torch_raw& raw, const pp_torch_row& row, RemoteMemory& memory);

// The name in a FunctionSchema ("aten::mm"), and that of its overload ("out"; most have none). Nullopt: there is no
// schema at that address.
struct SchemaName {
  std::string name;
  std::string overload;
};
std::optional<SchemaName> ReadSchemaName(RemoteAddr schema, const pp_torch_row& row, RemoteMemory& memory);

class TorchRowChoice {
 public:
  explicit TorchRowChoice(RemoteMemory& memory) : memory_(memory), candidates_(TorchRows().size()) {}

  // Objects of one thread must come in order.
  void Try(uint64_t thread, const pp_torch_raw& raw);
  // The only row that fits, once enough objects were tried. `is_last`: take what there is.
  const TorchRow* Chosen(bool is_last) const;
  bool IsHopeless() const;  // no row fits

 private:
  struct Candidate {
    bool fits = true;
    size_t schemas = 0;  // objects that name one
    size_t objects = 0;
    std::vector<std::pair<uint64_t, uint64_t>> last_handles;  // by thread
  };

  RemoteMemory& memory_;
  std::vector<Candidate> candidates_;
};

}  // namespace ptrace_prof
