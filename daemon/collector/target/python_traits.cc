#include "daemon/collector/target/python_traits.h"

#include <utility>

#include "attach/abi/boot_head.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {

uint32_t PythonTraits(const Layout& layout) {
  const VersionFacts& facts = FactsOf(layout.version);
  const bool is_units = layout.instruction == InstructionKind::kLastiUnits;
  const bool is_index = is_units || layout.instruction == InstructionKind::kLastiBytes;
  const std::pair<pp_python_trait, bool> traits[] = {
      {PP_PYTHON_MONITORING, facts.has_monitoring}, {PP_PYTHON_INSTRUCTION_INDEX, is_index},
      {PP_PYTHON_INDEX_OF_UNITS, is_units},         {PP_PYTHON_INTERPRETERS_SLOT, facts.has_interpreters_slot},
      {PP_PYTHON_GIL_SLOT, facts.has_gil_slot},
  };
  uint32_t found = 0;
  for (const auto& [trait, holds] : traits) {
    found |= holds ? uint32_t{trait} : 0U;
  }
  return found;
}

}  // namespace ptrace_prof
