#include "symbolizer/cpython/code_cache.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kMaxInstructionBytes = uint64_t{1} << 30;
constexpr size_t kMaxNameBytes = 4096;
constexpr uint32_t kConstsBehindHeader = 8;  // co_consts is next to ob_size from 3.11 on (Include/cpython/code.h)
constexpr uint64_t kMaxPlaceholderBytes = 64;
constexpr const char* kPlaceholder = "Compiled function bytecode used";  // the error that it would raise
constexpr size_t kMostCopies = 4096;  // of one code's instructions: as many as there were threads at a time

template <typename T>
T Load(const std::byte* block, uint32_t offset) {
  T value{};
  std::memcpy(&value, block + offset, sizeof value);
  return value;
}

}  // namespace

CodeCache::CodeCache(RemoteMemory& memory, const Layout& layout, RemoteAddr code_type)
    : memory_(memory),
      layout_(layout),
      decode_(DecoderFor(layout.line_table)),
      code_type_(code_type.value),
      codes_(1) {}

void CodeCache::Clear() {
  by_address_.Clear();
  codes_.resize(1);
  large_line_tables_ = 0;
}

CodeFingerprint CodeCache::FingerprintOf(const std::byte* code) const {
  const uint64_t qualname = layout_.Has(&Layout::code_qualname) ? Load<uint64_t>(code, layout_.code_qualname) : 0;
  return {Load<uint64_t>(code, layout_.object_type), Load<uint64_t>(code, layout_.code_filename),
          Load<uint64_t>(code, layout_.code_name), qualname ^ (Load<uint64_t>(code, layout_.code_line_table) << 1),
          static_cast<uint64_t>(Load<int32_t>(code, layout_.code_first_line))};
}

bool CodeCache::IsSame(CodeId id) {
  headers_.resize(std::max<size_t>(headers_.size(), layout_.code_size));
  return memory_.Read(info(id).address, headers_.data(), layout_.code_size) == ReadStatus::kOk &&
         FingerprintOf(headers_.data()) == info(id).fingerprint;
}

void CodeCache::Confirm(CodeId id, uint64_t generation) {
  CodeInfo& code = codes_[id.value];
  code.confirmed = static_cast<uint8_t>(std::min(code.confirmed + 1, 255));
  code.generation = generation;
}

CodeId CodeCache::Find(uint64_t address) const {
  const CodeId* id = by_address_.Find(address);
  return id == nullptr ? kNoCode : *id;
}

bool CodeCache::IsCodeType(uint64_t type) {
  if (code_type_ != 0) {
    return type == code_type_;
  }
  ObjectReader reader(memory_, layout_);
  uint64_t name = 0;
  char text[5] = {};
  if (memory_.ReadValue(RemoteAddr(type) + layout_.type_name, &name) != ReadStatus::kOk ||
      memory_.Read(RemoteAddr(name), text, sizeof text) != ReadStatus::kOk || std::memcmp(text, "code", 5) != 0) {
    return false;
  }
  code_type_ = type;
  return true;
}

bool CodeCache::ReadInfo(uint64_t address, CodeInfo* info) {
  headers_.resize(std::max<size_t>(headers_.size(), layout_.code_size));
  if (memory_.Read(RemoteAddr(address), headers_.data(), layout_.code_size) != ReadStatus::kOk) {
    return false;
  }
  const std::byte* code = headers_.data();
  if (!IsCodeType(Load<uint64_t>(code, layout_.object_type))) {
    return false;
  }
  info->address = RemoteAddr(address);
  info->fingerprint = FingerprintOf(code);
  info->first_line = Load<int32_t>(code, layout_.code_first_line);
  info->may_suspend = layout_.Has(&Layout::code_flags) && MaySuspend(Load<uint32_t>(code, layout_.code_flags));
  const uint32_t name_field = layout_.Has(&Layout::code_qualname) ? layout_.code_qualname : layout_.code_name;
  const RemoteAddr name(Load<uint64_t>(code, name_field));
  const RemoteAddr file(Load<uint64_t>(code, layout_.code_filename));
  info->name_object = RemoteAddr(Load<uint64_t>(code, layout_.code_name));
  info->file_object = file;
  const RemoteAddr table(Load<uint64_t>(code, layout_.code_line_table));
  if (layout_.Has(&Layout::code_instructions)) {
    const uint64_t units = Load<uint64_t>(code, layout_.var_size);
    info->instructions = address + layout_.code_instructions;
    info->instructions_end = info->instructions + std::min(units * 2, kMaxInstructionBytes);
  } else {
    uint64_t length = 0;
    const RemoteAddr bytes(Load<uint64_t>(code, layout_.code_bytes));
    if (memory_.ReadValue(bytes + layout_.bytes_size, &length) != ReadStatus::kOk) {
      return false;
    }
    info->instructions_end = std::min(length, kMaxInstructionBytes);
  }
  ObjectReader reader(memory_, layout_);
  auto function = reader.ReadString(name, kMaxNameBytes);
  auto path = reader.ReadString(file, kMaxNameBytes);
  if (!function.has_value() || !path.has_value()) {
    return false;
  }
  info->function = std::move(*function);
  info->file = std::move(*path);
  info->is_internal = info->file == "<shim>" || (info->file == "__init__" && info->function == "__init__");
  if (!IsCompiled(*info, code)) {
    ReadLineTable(table, info);
  }
  return true;
}

// Nuitka's functions have code objects for their names. The bytecode is empty up to 3.10; later it is a placeholder of
// one statement, the same for all.
bool CodeCache::IsCompiled(const CodeInfo& info, const std::byte* header) {
  const uint64_t length = info.instructions_end - info.instructions;
  if (length == 0 || length > kMaxPlaceholderBytes || info.instructions == 0) {
    return length == 0;
  }
  ObjectReader reader(memory_, layout_);
  const auto consts = reader.ReadTuple(RemoteAddr(Load<uint64_t>(header, layout_.var_size + kConstsBehindHeader)), 2);
  return consts.has_value() && std::ranges::any_of(*consts, [&](RemoteAddr one) {  // the first constant, or the one
                                                                                   // after the docstring
           return reader.ReadString(one, kMaxNameBytes) == kPlaceholder;
         });
}

void CodeCache::ReadLineTable(RemoteAddr table, CodeInfo* info) {
  ObjectReader reader(memory_, layout_);
  const size_t room = std::max(kMaxLargeLineTables - large_line_tables_, kLargeLineTableBytes);
  auto lines = reader.ReadBytes(table, std::min(kMaxLineTableBytes, room));
  if (!lines.has_value()) {
    return;
  }
  if (lines->size() > kLargeLineTableBytes) {
    large_line_tables_ += lines->size();
  }
  info->line_table = std::move(*lines);
  info->has_line_table = true;
}

CodeId CodeCache::Read(uint64_t address) {
  CodeInfo info;
  if (!ReadInfo(address, &info)) {
    return kNoCode;
  }
  const CodeId id(static_cast<uint32_t>(codes_.size()));
  codes_.push_back(std::move(info));
  if (CodeId* known = by_address_.Find(address)) {
    *known = id;
  } else {
    by_address_.Insert(address, id);
  }
  return id;
}

bool CodeCache::Contains(const CodeInfo& code, uint64_t instruction) const {
  switch (layout_.instruction) {
    case InstructionKind::kLastiBytes:
      return static_cast<int64_t>(instruction) < static_cast<int64_t>(code.instructions_end);
    case InstructionKind::kLastiUnits:
      return static_cast<int64_t>(instruction) * 2 < static_cast<int64_t>(code.instructions_end);
    case InstructionKind::kPrevInstr:
      return instruction + 2 >= code.instructions && instruction < code.instructions_end;
    case InstructionKind::kInstrPtr: return instruction >= code.instructions && instruction < code.instructions_end;
  }
  return false;
}

// CPython 3.14, 3.15: _PyCodeArray (cpython/code.h): a count, then one pointer per thread index. The first is the code
// object's own; those of threads that never ran it are null.
void CodeCache::ReadCopies(CodeInfo& code) {
  std::array<uint64_t, 1 + kMostCopies> array{};
  uint64_t address = 0;
  code.copies.clear();
  if (memory_.ReadValue(code.address + layout_.code_tlbc, &address) != ReadStatus::kOk ||
      memory_.ReadValue(RemoteAddr(address), array.data()) != ReadStatus::kOk) {
    return;
  }
  const size_t count = std::min<uint64_t>(array[0], kMostCopies);
  if (memory_.Read(RemoteAddr(address), array.data(), (1 + count) * sizeof array[0]) != ReadStatus::kOk) {
    return;
  }
  std::copy_if(array.begin() + 1, array.begin() + 1 + count, std::back_inserter(code.copies), IsPlausibleAddress);
  std::ranges::sort(code.copies);
}

std::optional<uint64_t> CodeCache::Locate(CodeId id, uint64_t instruction) {
  CodeInfo& code = codes_[id.value];
  if (Contains(code, instruction)) {
    return instruction;
  }
  if (!layout_.Has(&Layout::code_tlbc)) {
    return std::nullopt;
  }
  const uint64_t length = code.instructions_end - code.instructions;
  for (const bool is_fresh : {false, true}) {
    if (is_fresh) {
      ReadCopies(code);
    }
    const auto after = std::ranges::upper_bound(code.copies, instruction);
    if (after != code.copies.begin() && instruction - *std::prev(after) < length) {
      return code.instructions + (instruction - *std::prev(after));
    }
  }
  return std::nullopt;
}

SourcePosition CodeCache::Position(CodeId id, uint64_t located) const {
  const CodeInfo& code = info(id);
  int64_t offset = 0;
  switch (layout_.instruction) {
    case InstructionKind::kLastiBytes: offset = static_cast<int64_t>(located); break;
    case InstructionKind::kLastiUnits: offset = static_cast<int64_t>(located) * 2; break;
    case InstructionKind::kPrevInstr:
    case InstructionKind::kInstrPtr: offset = static_cast<int64_t>(located - code.instructions); break;
  }
  if (!code.has_line_table) {
    return {};
  }
  if (!Contains(code, located) || offset > static_cast<int64_t>(kMaxInstructionBytes)) {
    return SourcePosition{.line = code.first_line};
  }
  return decode_(code.line_table, code.first_line, offset, code.line_cursor);
}

void CodeCache::Forget(uint64_t address) {
  if (CodeId* known = by_address_.Find(address)) {
    *known = kNoCode;
  }
}

ReadStatus CodeCache::Revalidate(const std::vector<CodeId>& ids, std::vector<CodeId>* stale) {
  headers_.resize(std::max<size_t>(headers_.size(), ids.size() * layout_.code_size));
  requests_.clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    requests_.push_back({info(ids[i]).address, headers_.data() + i * layout_.code_size, layout_.code_size});
  }
  for (size_t done = 0; done < ids.size();) {
    size_t filled = 0;
    const ReadStatus status = memory_.ReadBatch(std::span(requests_).subspan(done), &filled);
    if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
      return status;
    }
    for (size_t i = done; i < done + filled; ++i) {
      if (FingerprintOf(headers_.data() + i * layout_.code_size) != info(ids[i]).fingerprint) {
        stale->push_back(ids[i]);
      }
    }
    done += filled;
    if (status != ReadStatus::kOk && done < ids.size()) {
      stale->push_back(ids[done++]);  // it is not mapped any more
    }
  }
  for (const CodeId id : *stale) {
    if (CodeId* current = by_address_.Find(info(id).address.value); current != nullptr && *current == id) {
      *current = kNoCode;
    }
  }
  return ReadStatus::kOk;
}

}  // namespace ptrace_prof
