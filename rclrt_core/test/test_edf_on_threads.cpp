// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The scenarios of EDF on real threads, ordered by the FIFO bands. With RCLRT_EDF_TRACES naming a folder,
// the job records of each scenario are left there for the checker of orders.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "edf_on_threads.hpp"
#include "platform/linux/shared_edf_memory.hpp"
#include "rclrt_core/fifo_bands.hpp"

namespace rclrt_core
{
namespace
{

void write_trace(const std::string & path, const EdfRun & run)
{
  std::ofstream file(path, std::ios::binary);
  rclrt_trace_header header{};
  std::memcpy(header.magic, RCLRT_TRACE_MAGIC, sizeof(header.magic));
  header.version = RCLRT_TRACE_VERSION;
  header.record_size = sizeof(rclrt_job_record);
  header.callbacks = static_cast<uint32_t>(run.names.size());
  file.write(reinterpret_cast<const char *>(&header), sizeof(header));
  for (const auto & [id, name] : run.names) {
    const uint32_t entry[2] = {id, static_cast<uint32_t>(name.size())};
    file.write(reinterpret_cast<const char *>(entry), sizeof(entry));
    file << name;
  }
  for (const rclrt_job_record & record : run.records) {
    file.write(reinterpret_cast<const char *>(&record), sizeof(record));
  }
}

class EdfOnThreads : public ::testing::TestWithParam<EdfScenario>
{
protected:
  void SetUp() override
  {
    LinuxPlatform platform;
    Attributes now;
    ASSERT_EQ(platform.read_back(platform.current_thread(), &now), 0);
    std::vector<int> cpus = now.cpu_affinity.cpus();
    const auto wanted = static_cast<std::size_t>(GetParam().cpus);
    if (cpus.size() < wanted) {
      GTEST_SKIP() << "needs " << wanted << " CPUs, and may use " << cpus.size();
    }
    cpus.resize(wanted);
    cpus_ = CpuSet(cpus);
    Attributes fifo;
    fifo.policy = SchedulingPolicy::kFifo;
    fifo.priority = 50;
    int refused = 0;
    std::thread([&] { refused = platform.apply(platform.current_thread(), fifo); }).join();
    if (refused != 0) {
      GTEST_SKIP() << "not permitted here: "
                   << to_string(platform.explain("this test", fifo, refused));
    }
  }

  CpuSet cpus_;
};

TEST_P(EdfOnThreads, jobs_end_in_the_order_of_their_deadlines)
{
  LinuxPlatform platform;
  constexpr int kAttempts = 10;
  FifoBandsOptions options;
  options.runners = GetParam().cpus;
  options.shared_name = "rclrt_test_order_" + std::to_string(getpid());
  std::shared_ptr<FifoBands> bands;
  const Status made = FifoBands::make(platform, options, &bands);
  ASSERT_TRUE(made.ok()) << made.message();
  EdfRun run;
  bool is_it = false;
  for (int i = 0; i < kAttempts && !is_it; ++i) {
    std::thread([&] { run = run_on_threads(GetParam(), bands, cpus_); }).join();
    is_it = run.arrived_as_in(GetParam());
  }
  unlink(linux_platform::SharedEdfMemory::path(options.shared_name).c_str());
  if (!is_it) {
    GTEST_SKIP() << "something else kept the CPUs: in " << kAttempts
                 << " attempts the jobs never arrived in time";
  }
  for (const auto & [first, second] : GetParam().ends_before) {
    EXPECT_LT(run.end_of(first), run.end_of(second)) << first << " before " << second;
  }
  EXPECT_TRUE(bands->findings().empty());
  if (const char * const folder = std::getenv("RCLRT_EDF_TRACES")) {
    write_trace(std::string(folder) + "/" + GetParam().name + ".trace", run);
  }
}

INSTANTIATE_TEST_SUITE_P(
  FifoBands, EdfOnThreads, ::testing::ValuesIn(edf_scenarios()),
  [](const auto & scenario) { return scenario.param.name; });

}  // namespace
}  // namespace rclrt_core
