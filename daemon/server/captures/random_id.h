// An ID that cannot be guessed and is unique across restarts: 20 hexadecimal digits. Stateless.
#pragma once

#include <string>

namespace ptrace_prof {

std::string RandomId();

}  // namespace ptrace_prof
