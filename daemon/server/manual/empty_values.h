// Refuses empty values, as an unset variable produces them: `-o "$OUT"`. An empty value never means "not given".
#pragma once

namespace CLI {
class App;
}

namespace ptrace_prof {

// Adds the check to each option and argument of `app` and its commands. Call after all are declared.
void RefuseEmptyValues(CLI::App& app);

}  // namespace ptrace_prof
