// What a user has left empty, as a variable that is not set does: `-o "$OUT"`. It never means "not given".
#pragma once

namespace CLI {
class App;
}

namespace ptrace_prof {

// Of each option and argument of it and of its commands. Once all are declared.
void RefuseEmptyValues(CLI::App& app);

}  // namespace ptrace_prof
