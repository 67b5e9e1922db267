#include "daemon/collector/inspect/gpu_outlook.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace ptrace_prof {
namespace {

constexpr Pid kPid(4711);

GpuOutlook Usable() {
  return {.library = GpuLibraryPlace{"libcupti.so.12", "/opt/libcupti.so.12", true},
          .release = CudaRelease{12, 4},
          .has_driver = true,
          .driver = 550};
}

Reason ReasonFor(const GpuOutlook& outlook) {
  const Check check = JudgeGpu(kPid, outlook);
  EXPECT_EQ(check.pid, kPid);
  EXPECT_EQ(check.subject, "gpu");
  EXPECT_FALSE(check.cause.empty());
  EXPECT_NE(check.verdict, Verdict::kMissing) << "the Python part works";
  EXPECT_EQ(check.verdict == Verdict::kLimited, !check.remedy.empty());
  return check.reason;
}

TEST(CuptiReleaseOf, ReadsTheNamesOfWheelsAndToolkits) {
  struct Row {
    std::string_view name;
    std::optional<CudaRelease> release;
  };
  constexpr Row kRows[] = {
      {"libcupti.so.12", CudaRelease{12, -1}},
      {"libcupti.so.13", CudaRelease{13, -1}},
      {"libcupti.so.11.2", CudaRelease{11, 2}},
      {"libcupti.so.2022.3.0", CudaRelease{11, 8}},
      {"libcupti.so.2024.1.1", CudaRelease{12, 4}},
      {"libcupti.so.2021.2.2", CudaRelease{11, 0}},
      {"libcupti.so.2022.1.0", CudaRelease{11, 0}},
      {"libcupti.so.2025.3.2", CudaRelease{13, 0}},
      {"libcupti.so.2031.7.0", std::nullopt},
      {"libcupti.so.", std::nullopt},
      {"libcupti.so.x", std::nullopt},
      {"libcupti.so.99999999999999999999", std::nullopt},
      {"libcupti.so", std::nullopt},
      {"libcudart.so.12", std::nullopt},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(CuptiReleaseOf(row.name), row.release) << row.name;
  }
}

TEST(JudgeGpu, NothingStandsInTheWay) {
  EXPECT_EQ(ReasonFor(Usable()), Reason::kUnspecified);
  GpuOutlook unknown = Usable();
  unknown.release.reset();
  unknown.driver.reset();
  EXPECT_EQ(ReasonFor(unknown), Reason::kUnspecified);
}

TEST(JudgeGpu, AJobWithoutCudaHasNothingToRecord) {
  GpuOutlook outlook = Usable();
  outlook.library = Because(Reason::kNoCuda, "process 4711 does not use CUDA", "", "");
  EXPECT_EQ(JudgeGpu(kPid, outlook).verdict, Verdict::kOk);
  outlook = Usable();
  outlook.has_driver = false;
  outlook.release = CudaRelease{10, 0};
  EXPECT_EQ(JudgeGpu(kPid, outlook).verdict, Verdict::kOk);
  EXPECT_NE(JudgeGpu(kPid, outlook).cause.find("not used CUDA yet"), std::string::npos);
}

TEST(JudgeGpu, SaysWhatACaptureWouldMeet) {
  GpuOutlook outlook = Usable();
  outlook.library = Because(Reason::kCuptiBlocked, "there is no libcupti", "install it", "");
  EXPECT_EQ(ReasonFor(outlook), Reason::kCuptiBlocked);

  outlook = Usable();
  outlook.release = CudaRelease{11, 7};
  EXPECT_EQ(ReasonFor(outlook), Reason::kCuptiTooOld);
  outlook.release = CudaRelease{10, -1};
  EXPECT_EQ(ReasonFor(outlook), Reason::kCuptiTooOld);
  outlook.release = CudaRelease{11, -1};
  EXPECT_EQ(ReasonFor(outlook), Reason::kUnspecified);

  outlook = Usable();
  outlook.release = CudaRelease{13, -1};
  EXPECT_EQ(ReasonFor(outlook), Reason::kDriverTooOld);
  outlook.driver = 580;
  EXPECT_EQ(ReasonFor(outlook), Reason::kUnspecified);

  outlook = Usable();
  outlook.release = CudaRelease{13, 0};
  outlook.crashes_jobs = true;
  EXPECT_EQ(ReasonFor(outlook), Reason::kCuptiBlocked) << "which the driver does not mend";

  outlook = Usable();
  const Check usable = JudgeGpu(kPid, outlook);
  EXPECT_EQ(JudgeGpuMemory(kPid, 255 << 20, usable).reason, Reason::kLowGpuMemory);
  EXPECT_EQ(JudgeGpuMemory(kPid, 256 << 20, usable).verdict, Verdict::kOk);

  outlook = Usable();
  outlook.other_tool = "Nsight Systems";
  EXPECT_EQ(ReasonFor(outlook), Reason::kConflictSubscriber);

  outlook = Usable();
  outlook.torch_profiler = Because(Reason::kConflictSubscriber, "PyTorch's profiler runs", "wait", "");
  EXPECT_EQ(ReasonFor(outlook), Reason::kConflictSubscriber);

  outlook = Usable();
  EXPECT_TRUE(CheckGpuCompany(kPid, outlook).has_value());
  outlook.library.value().is_unsure = true;
  EXPECT_EQ(ReasonFor(outlook), Reason::kCuptiBlocked);
  EXPECT_TRUE(CheckGpuCompany(kPid, outlook).has_error());

  outlook = Usable();
  outlook.uses_mps = true;
  EXPECT_EQ(ReasonFor(outlook), Reason::kMpsUnsafe);
  outlook.release = CudaRelease{13, -1};
  outlook.driver = 580;
  EXPECT_EQ(ReasonFor(outlook), Reason::kUnspecified);
}

TEST(LookAtGpu, FindsToolsByWhatIsMapped) {
  std::vector<MemoryRegion> regions(2);
  regions[0].path = "/opt/nsight/libToolsInjection64.so";
  regions[1].path = "/opt/cuda/libcupti.so.2024.3.2";
  const GpuOutlook outlook = LookAtGpu(Pid(::getpid()), regions);
  EXPECT_EQ(outlook.other_tool, "Nsight Systems");
  EXPECT_EQ(outlook.release, (CudaRelease{12, 6}));
  EXPECT_FALSE(outlook.has_driver);
  regions[0].path = "/usr/lib/libcuda.so.580.65.06";
  EXPECT_TRUE(LookAtGpu(Pid(::getpid()), regions).has_driver);
  EXPECT_EQ(LookAtGpu(Pid(::getpid()), regions).driver, 580);
  EXPECT_EQ(LookAtGpu(Pid(::getpid()), regions).other_tool, "");
}

bool CrashesJobs(const std::string& library) {
  std::vector<MemoryRegion> regions(1);
  regions[0].path = library;
  return LookAtGpu(Pid(::getpid()), regions).crashes_jobs;
}

TEST(LookAtGpu, KnowsTheFirstCuptiOfCuda13OfToolkits) {
  EXPECT_TRUE(CrashesJobs("/opt/cuda/libcupti.so.2025.3.0"));
  EXPECT_TRUE(CrashesJobs("/opt/cuda/libcupti.so.2025.3.0 (deleted)"));
  for (const char* other : {"2025.3.1", "2025.3", "2025.3.00.1", "2025.4.0", "2024.3.0", "2025.30", "13", ""}) {
    EXPECT_FALSE(CrashesJobs("/opt/cuda/libcupti.so." + std::string(other))) << other;
  }
}

TEST(LookAtGpu, KnowsTheFirstCuptiOfCuda13OfWheels) {
  std::string name = (std::filesystem::temp_directory_path() / "pp-wheels-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::filesystem::path place = name;
  const std::string library = place / "nvidia/cu13/lib/libcupti.so.13";
  std::filesystem::create_directories(place / "nvidia/cu13/lib");
  EXPECT_FALSE(CrashesJobs(library));
  for (const char* other : {"nvidia_cuda_cupti-13.0.85.dist-info", "nvidia_cuda_runtime-13.0.48.dist-info"}) {
    std::filesystem::create_directory(place / other);
    EXPECT_FALSE(CrashesJobs(library)) << other;
  }
  std::filesystem::create_directory(place / "nvidia_cuda_cupti-13.0.48.dist-info");
  EXPECT_TRUE(CrashesJobs(library));
  EXPECT_FALSE(CrashesJobs(place / "nvidia/cu13/lib/libcupti.so.12"));
  EXPECT_FALSE(CrashesJobs(place / "nvidia/elsewhere/lib/libcupti.so.13")) << "there is no such folder";
  EXPECT_FALSE(CrashesJobs("libcupti.so.13"));
  std::filesystem::remove_all(place);
}

TEST(LookAtGpu, KnowsThatThereMayBeTwoOfThem) {
  std::vector<MemoryRegion> regions(3);
  regions[0].path = "/opt/cuda/libcupti.so.13";
  regions[1].path = "/opt/cuda/libcupti.so.13";  // its other segments
  regions[2].path = "/usr/lib/libcuda.so.1";
  EXPECT_FALSE(LookAtGpu(Pid(::getpid()), regions).library.value().is_unsure);
  regions[1].path = "/opt/nsight/libcupti.so.13";
  EXPECT_TRUE(LookAtGpu(Pid(::getpid()), regions).library.value().is_unsure);
}

}  // namespace
}  // namespace ptrace_prof
