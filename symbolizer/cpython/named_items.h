// Finds one value of a dict, or one attribute of an object, by its name.
//
// The cost is a read or two for each name before it. nullopt: not found, or it could not be read.
#pragma once

#include <optional>
#include <string_view>

#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {

// Searches the first `max_items`; names of up to 64 characters.
std::optional<RemoteAddr> FindItem(ObjectReader& reader, RemoteAddr dict, std::string_view name, size_t max_items);
std::optional<RemoteAddr> FindAttribute(ObjectReader& reader, RemoteAddr object, std::string_view name);
// Searches sys.modules.
std::optional<RemoteAddr> FindModule(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                                     std::string_view name);

}  // namespace ptrace_prof
