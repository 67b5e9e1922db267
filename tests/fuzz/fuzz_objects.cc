// A target whose whole memory is the input, repeated: every reader of objects, for every layout. The first byte chooses
// the layout.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "symbolizer/cpython/object_reader.h"
#include "symbolizer/cpython/runtime_check.h"
#include "symbolizer/cpython/thread_names.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

// Address a holds byte a modulo the size; nothing is mapped from 1 << 40 on. Reads fail after many reads, as in a
// target that ends, to distinguish a long walk (allowed: it is bounded) from an endless one.
class RepeatedMemory final : public RemoteMemory {
 public:
  RepeatedMemory(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    if (++reads_ > 2000000) {
      std::abort();
    }
    if (from.value >= uint64_t{1} << 40 || size > size_) {
      return ReadStatus::kFault;
    }
    const size_t at = from.value % size_;
    const size_t first = std::min(size, size_ - at);
    std::memcpy(to, data_ + at, first);
    std::memcpy(static_cast<char*>(to) + first, data_, size - first);
    return ReadStatus::kOk;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override {
    for (*filled = 0; *filled < requests.size(); ++*filled) {
      const ReadRequest& request = requests[*filled];
      if (Read(request.from, request.to, request.size) != ReadStatus::kOk) {
        return ReadStatus::kFault;
      }
    }
    return ReadStatus::kOk;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t reads_ = 0;
};

std::vector<Layout> AllLayouts() {
  std::vector<Layout> layouts;
  for (const VersionFacts& version : SupportedVersions()) {
    if (!version.describes_itself) {
      layouts.push_back(LayoutFor({3, version.minor, 0, 0xF, 0}, false).value());
    }
  }
  // Later versions describe themselves. For the readers of objects they differ only in inline values.
  Layout later = layouts.back();
  later.attributes = AttributesKind::kInlineValues;
  later.values_items = 8;
  later.values_valid = 3;
  layouts.push_back(later);
  return layouts;
}

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void ReadEverything(RemoteMemory& memory, const Layout& layout) {
  ObjectReader reader(memory, layout);
  const RemoteAddr object(0x1000);
  size_t visited = 0;
  const auto count = [&](RemoteAddr, RemoteAddr) { return ++visited < 100000; };
  Check(reader.ReadString(object, 100).value_or("").size() <= 100);
  Check(reader.ReadBytes(object, 100).value_or(std::vector<uint8_t>()).size() <= 100);
  Check(reader.ReadTuple(object, 100).value_or(std::vector<RemoteAddr>()).size() <= 100);
  static_cast<void>(reader.ReadInt(object));
  static_cast<void>(reader.ReadTypeName(object));
  static_cast<void>(reader.VisitDict(object, 50, count));
  static_cast<void>(reader.VisitAttributes(object, 50, count));
  Check(visited <= 100);
  for (const size_t limit : {0, 1, 3, 200}) {
    Check(reader.Repr(object, limit).size() <= limit);
  }
  static_cast<void>(CheckRuntime(memory, layout, object));
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  static const std::vector<Layout> layouts = AllLayouts();
  if (size < 16) {
    return 0;
  }
  RepeatedMemory memory(data + 1, size - 1);
  ReadEverything(memory, layouts[data[0] % layouts.size()]);
  return 0;
}
