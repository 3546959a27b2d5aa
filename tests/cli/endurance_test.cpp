// SPDX-License-Identifier: Apache-2.0
// Long runs and killed ones. `./dev test` does a little of both, `./dev campaign` a million steps and hundreds of kills.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "invar/base/random.hpp"
#include "invar/io/log.hpp"
#include "program.hpp"
#include "support/campaign.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;

// A closed loop with redundant rows, recorded every tenth step.
std::string linkage(long steps) {
  return "model = '" + model("four_bar") +
         "'\n[integrator]\nmethod = 'rk4'\nstep = 0.001\n[time]\nend = " + std::to_string(static_cast<double>(steps) / 1000) +
         "\n[record]\nevery = 10\nwhat = ['joints', 'energy']\n[must]\njoint_gap = { below = 1e-9 }\nenergy_drift = { below = "
         "1e-3 }\n";
}

struct Long {
  int code = -1;
  long peak = 0;  // largest memory of the process, KiB
  std::uintmax_t log = 0, hdf5 = 0;
};

Long run_long(const Folder& folder, long steps) {
  write_file(folder / "s.toml", linkage(steps));
  const pid_t child = start_invar({"run", folder / "s.toml", "-o", folder / "out"});
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, used.ru_maxrss, fs::file_size(folder / "out/run.log"),
          fs::file_size(folder / "out/run.h5")};
}

// Memory does not grow with the length of a run, and files grow by the bytes of their samples and no more: four hinges and a ball
// with 3 + 4 coordinates and 3 + 3 rates, seven energies and the time are 21 numbers; 16 bytes go with each record of the log.
// 4 MiB of slack in memory are the buffers of HDF5 (one block of 2^19 numbers); a short run may not fill them.
TEST(Soak, MemoryStaysAndFilesGrowByTheirSamplesOnly) {
  Folder shorter, longer;
  const long steps = 500l * cases(40);
  const Long few = run_long(shorter, steps / 4), many = run_long(longer, steps);
  ASSERT_EQ(few.code, 0);
  ASSERT_EQ(many.code, 0) << "the laws of the scenario hold to the end";
  EXPECT_LE(many.peak, few.peak + 4096 + 1024);
  const std::uintmax_t samples = static_cast<std::uintmax_t>(steps - steps / 4) / 10;
  const std::uintmax_t per_record = (many.log - few.log) / samples;
  EXPECT_EQ((many.log - few.log) % samples, 0u);
  EXPECT_LE(many.hdf5 - few.hdf5, (per_record - 16) * samples + 4096);

  const auto result = nlohmann::json::parse(read_file(longer / "out/result.json"));
  EXPECT_EQ(result["metrics"]["steps"], steps);
  EXPECT_EQ(result["status"], "ok");
}

std::uintmax_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = fs::file_size(path, none);
  return none ? 0 : size;
}

// What a kill leaves: every record that had reached the file before is read back in order, and `report` makes HDF5 of it.
void expect_readable(const Folder& folder, std::uintmax_t seen_before_the_kill) {
  auto log = LogReader::open(folder / "out/run.log");
  if (seen_before_the_kill == 0 && !log) return;  // killed before the header was written
  ASSERT_TRUE(log) << log.error().text();
  std::vector<double> row(static_cast<std::size_t>(log->layout().width()));
  const std::uint64_t first = log->position();
  double last = -1;
  while (log->next(row)) {
    EXPECT_GT(row[0], last);
    last = row[0];
  }
  const std::uint64_t record = 16 + 8 * row.size();
  EXPECT_NE(log->ending(), LogReader::Ending::Damaged);
  const bool complete = log->ending() == LogReader::Ending::Complete;
  if (!complete && seen_before_the_kill > first) {
    EXPECT_GE(log->count(), (seen_before_the_kill - first) / record);
  }

  // Whole or not there.
  if (fs::exists(folder / "out/result.json")) {
    EXPECT_TRUE(complete && nlohmann::json::accept(read_file(folder / "out/result.json")));
  }
  const Ended e = invar({"report", folder / "out"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_NE(e.out.find(std::to_string(log->count()) + " samples"), std::string::npos) << e.out;
  EXPECT_GT(size_of(folder / "out/run.h5"), 0u);
}

// Endless runs are killed while they record; short ones (a tenth of a second) also while they write their results.
TEST(Kill, AtAnyTimeLeavesARecordingReadableToItsLastFlush) {
  Random random(seed(20240507));
  const int kills = std::max(6, cases(60) / 10);
  for (int k = 0; k < kills; ++k) {
    Folder folder;
    const bool endless = k % 2 == 0;
    write_file(folder / "s.toml", linkage(endless ? 100000000 : 4000));
    const pid_t child = start_invar({"run", folder / "s.toml", "-o", folder / "out"});
    std::this_thread::sleep_for(std::chrono::microseconds(static_cast<long>(random.uniform(0, endless ? 8e5 : 4e5))));
    const std::uintmax_t seen = size_of(folder / "out/run.log");
    ::kill(child, SIGKILL);
    const int code = wait_for(child);
    EXPECT_TRUE(code == 128 + SIGKILL || (!endless && code == 0)) << code;
    if (fs::exists(folder / "out/run.log")) expect_readable(folder, seen);
  }
}

}  // namespace
}  // namespace invar::testing
