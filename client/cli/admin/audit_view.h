// `ptrace-prof audit`, also `ptrace-prof daemon audit`: its options and its output.
#pragma once

#include <map>
#include <string>

#include "attach/base/result.h"
#include "client/cli/admin/audit_file.h"
#include "client/cli/admin/audit_line.h"
#include "client/cli/exit_code.h"
#include "client/cli/user_names.h"
#include "client/remote/capture_backend.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

class AuditView {
 public:
  void Declare(CLI::App& app);
  // `backend` may know the path of the daemon's file. This process opens the file, with the rights of its user.
  Result<ExitCode> Show(CaptureBackend& backend);

 private:
  Result<std::string> ChooseFile(CaptureBackend& backend) const;
  Result<AuditFilter> ReadFilter() const;
  bool ShowLine(std::string_view line);
  Result<ExitCode> ShowUntilNow(AuditFile& file);
  Result<ExitCode> Follow(AuditFile& file);
  void ReportWhatIsMissing(const AuditFile& file) const;

  std::string file_;
  std::string user_;
  std::string pid_;
  std::string since_;
  std::string outcome_;
  bool json_ = false;
  bool follow_ = false;

  std::string path_;
  AuditFilter filter_;
  UserNames names_;
  uint64_t shown_ = 0;
  uint64_t damaged_ = 0;
  Nanos first_;  // time of the first record; 0: none yet
  ExitCode printed_ = ExitCode::kOk;
};

}  // namespace ptrace_prof
