// What the accounting of GPUs is worth telling a reader: counts for the header, sentences on what is missing.
//
// Parts of FactsOf and CautionsOf (recording.h). Stateless.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/export/recording.h"

namespace ptrace_prof {

void AddGpuFacts(const Recording& recording, std::vector<std::pair<std::string, std::string>>& facts);
void AddGpuCautions(const Recording& recording, std::vector<std::string>& cautions);

}  // namespace ptrace_prof
