// What a reader should know from the accounting of GPUs: counts for the header, and sentences about missing data.
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
