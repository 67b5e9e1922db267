// The cost of this process, under the names that Prometheus' own clients use. Stateless.
#pragma once

#include "daemon/server/metrics/metrics_text.h"

namespace ptrace_prof {

void PutProcess(MetricsText& text);

}  // namespace ptrace_prof
