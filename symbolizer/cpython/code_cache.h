// Code objects of one process by address: names, line table, and the address of the instructions.
//
// Entries are read once and then checked again, because an address may be freed and reused by another code object. Each
// entry carries a fingerprint of the header, and Revalidate (called before samples are written out) finds the entries
// that changed. A reused address gets a new CodeId. Does not stop the target. One owner, one thread.
//
// Line tables are stored as a whole. A table that is larger than kMaxLineTableBytes, or would exceed the limit for all
// large ones, is not stored, and its function's instructions then have no line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/line_table.h"

namespace ptrace_prof {

using CodeId = StrongId<struct CodeIdTag, uint32_t>;
inline constexpr CodeId kNoCode{0};

// A generated module of a hundred thousand lines has a table of one MiB.
inline constexpr size_t kMaxLineTableBytes = size_t{64} << 20;
inline constexpr size_t kLargeLineTableBytes = size_t{1} << 20;
inline constexpr size_t kMaxLargeLineTables = size_t{128} << 20;  // total bytes of tables larger than
                                                                  // kLargeLineTableBytes

// Distinguishes a code object from another one at its address.
using CodeFingerprint = std::array<uint64_t, 5>;

struct CodeInfo {
  RemoteAddr address;
  std::string function;  // the qualified name if there is one, else the name
  std::string file;
  int32_t first_line = 0;
  bool may_suspend = false;  // a generator, a coroutine, or both
  // Code of the interpreter itself, which tracebacks hide too: 3.12's trampoline (file "<shim>"), and from 3.12 on the
  // code between a called class and its __init__ (Objects/codeobject.c: _Py_InitCleanup).
  bool is_internal = false;
  RemoteAddr name_object;  // the objects co_name and co_filename
  RemoteAddr file_object;
  std::vector<uint8_t> line_table;
  bool has_line_table = false;  // it could be read, and may be empty; for code compiled by Nuitka it contains nothing
  mutable LineCursor line_cursor;
  uint64_t instructions = 0;      // address of the first instruction; 0 if f_lasti is an index
  uint64_t instructions_end = 0;  // f_lasti kinds: length in bytes
  std::vector<uint64_t> copies;   // start addresses of the threads' copies of the instructions, in order
  CodeFingerprint fingerprint{};
  uint8_t confirmed = 0;    // how often it was found unchanged since; see Confirm
  uint64_t generation = 0;  // the interpreter's count of freed code objects when it was last found unchanged
};

class CodeCache {
 public:
  // `code_type`: &PyCode_Type, or null: then the type of the first object that reads as a code object is used.
  CodeCache(RemoteMemory& memory, const Layout& layout, RemoteAddr code_type);

  // Returns the known entry, or kNoCode. No system call.
  CodeId Find(uint64_t address) const;
  // Reads it from the target. kNoCode: there is no code object at the address (now).
  CodeId Read(uint64_t address);

  static constexpr size_t kMostHeaderBytes = 512;
  uint32_t header_size() const { return layout_.code_size; }
  CodeFingerprint FingerprintOf(const std::byte* header) const;
  // Reads its header again. Returns whether it is still the same code object.
  bool IsSame(CodeId id);
  void Confirm(CodeId id, uint64_t generation);

  const CodeInfo& info(CodeId id) const { return codes_[id.value]; }
  // The position of `instruction`, as stored in a frame of this code, within the code object's own instructions. A
  // thread of a free-threaded build (3.14+) may run a copy of them. nullopt: no frame of this code could have this
  // value. Copies are read at first use.
  std::optional<uint64_t> Locate(CodeId id, uint64_t instruction);
  // `located`: see Locate; for any other value, the line where the code begins. No line if the table could not be read.
  SourcePosition Position(CodeId id, uint64_t located) const;

  // Re-reads the headers of `ids` in one batch; appends those that changed to `stale` and forgets their addresses.
  ReadStatus Revalidate(const std::vector<CodeId>& ids, std::vector<CodeId>* stale);

  // Forgets an address that may hold another code object now. Users of its CodeId keep it.
  void Forget(uint64_t address);

  size_t size() const { return codes_.size() - 1; }
  void Clear();

 private:
  struct AddressHash {
    uint64_t operator()(uint64_t address) const { return MixHash(address, 0); }
  };
  bool ReadInfo(uint64_t address, CodeInfo* info);
  bool IsCompiled(const CodeInfo& info, const std::byte* header);
  void ReadLineTable(RemoteAddr table, CodeInfo* info);
  bool IsCodeType(uint64_t type);
  bool Contains(const CodeInfo& code, uint64_t instruction) const;
  void ReadCopies(CodeInfo& code);

  RemoteMemory& memory_;
  const Layout& layout_;
  LineTableDecoder decode_;
  uint64_t code_type_;
  FlatMap<uint64_t, CodeId, AddressHash> by_address_;
  std::vector<CodeInfo> codes_;   // [0] is kNoCode
  size_t large_line_tables_ = 0;  // bytes
  std::vector<std::byte> headers_;
  std::vector<ReadRequest> requests_;
};

}  // namespace ptrace_prof
