// SPDX-License-Identifier: Apache-2.0
// A disk that fills up at any byte of any output ends in exit code 2 and one line that names what was written; what is there is
// whole, and the log is readable to its last record. Never a signal: HDF5 used to end in one, in its exit handler.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "invar/io/log.hpp"
#include "invar/report/page.hpp"
#include "small_disk.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = binary_path("invar");
const std::string kCase = source_path("tests/edges/cases/dur3.toml");

// So that the run does not see beforehand that it will not fit.
const std::string kRoomy = "LD_PRELOAD=" INVAR_ROOMY_DISK " ASAN_OPTIONS=verify_asan_link_order=0 ";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What the disk held in the end.
struct Left {
  bool log = false, complete = false, result = false, hdf5 = false, page = false;
  std::uint64_t samples = 0;
};

void look_at_log(const std::string& path, Left& left) {
  left.log = fs::exists(path);
  if (!left.log) return;
  auto log = LogReader::open(path);
  ASSERT_TRUE(log) << log.error().text();
  std::vector<double> row(static_cast<std::size_t>(log->layout().width()));
  while (log->next(row)) ++left.samples;
  EXPECT_NE(log->ending(), LogReader::Ending::Damaged);
  left.complete = log->ending() == LogReader::Ending::Complete;
  if (!left.complete) {
    EXPECT_EQ(log->position(), fs::file_size(path)) << "a log is cut behind its last whole record";
  }
}

bool opens_as_hdf5(const std::string& path, std::uint64_t samples) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return false;
  const hid_t time = H5Dopen2(file, "time", H5P_DEFAULT), space = H5Dget_space(time);
  const bool whole = H5Sget_simple_extent_npoints(space) == static_cast<hssize_t>(samples);
  H5Sclose(space), H5Dclose(time), H5Fclose(file);
  return whole;
}

// Everything that is there is whole, and nothing else is there.
Left look_at(const std::string& out) {
  Left left;
  look_at_log(out + "/run.log", left);
  left.result = fs::exists(out + "/result.json");
  left.hdf5 = fs::exists(out + "/run.h5");
  left.page = fs::exists(out + "/report.html");
  if (left.result) {
    EXPECT_TRUE(nlohmann::json::accept(read_file(out + "/result.json")));
  }
  if (left.hdf5) {
    EXPECT_TRUE(opens_as_hdf5(out + "/run.h5", left.samples));
  }
  if (left.page) {
    EXPECT_TRUE(has(read_file(out + "/report.html"), "</html>"));
  }
  for (const auto& entry : fs::directory_iterator(out))
    EXPECT_NE(entry.path().extension().string().rfind(".part", 0), 0u) << entry.path();
  return left;
}

long kib(const std::string& path) { return static_cast<long>(fs::file_size(path) / 1024); }

// One line says what is missing and names what is there.
void expect_named(const Ended& e, const Left& left) {
  EXPECT_EQ(e.code, 2) << e.err;
  const std::size_t at = e.err.rfind("error: ");
  ASSERT_NE(at, e.err.npos) << e.err;
  const std::string line = e.err.substr(at);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_TRUE(has(line, "No space left on device") || has(line, "File too large")) << line;
  EXPECT_FALSE(left.hdf5 && !left.result) << "result.json does not depend on run.h5";
  for (const auto& [there, name] :
       {std::pair{left.result, "out/result.json"}, {left.hdf5, "out/run.h5"}, {left.page, "out/report.html"}})
    EXPECT_TRUE(!there || has(line, std::string(name) + ",") || has(line, std::string(name) + "\n")) << name << ": " << line;
  if (left.log && !left.complete) {
    EXPECT_TRUE(has(line, "run.log") && has(line, std::to_string(left.samples) + " samples")) << line;
  }
}

// How runs ended on disks of these sizes.
struct Ends {
  int fine = 0, without_hdf5 = 0, without_result = 0, cut_with_result = 0;
};

Ends run_on(const SmallDisk& disk, const std::vector<long>& sizes) {
  Ends ends;
  for (const long size : sizes) {
    SCOPED_TRACE(size);
    Folder after;
    const Ended e = disk.run(size, kRoomy + kProgram + " run " + kCase + " -o $DISK/out", after.path());
    const Left left = fs::exists(after / "out") ? look_at(after / "out") : Left{};
    const bool fine = left.result && left.hdf5 && (left.page || viewer_page().empty());
    if (fine)
      EXPECT_EQ(e.code, 0) << e.err;
    else
      expect_named(e, left);
    ends.fine += fine;
    ends.without_result += !left.result;
    ends.cut_with_result += left.result && left.log && !left.complete;
    ends.without_hdf5 += left.result && !left.hdf5;
  }
  return ends;
}

TEST(FullDisk, AtAnyFillLevelARunKeepsWhatItWroteAndNamesIt) {
  Folder whole;
  ASSERT_EQ(invar({"run", kCase, "-o", whole / "out"}).code, 0);
  long all = 64;
  for (const auto& entry : fs::directory_iterator(whole / "out")) all += kib(entry.path());
  std::vector<long> sizes;
  for (int k = 0; k <= 25; ++k) sizes.push_back(4 + all * k / 25);
  const SmallDisk disk;
  const Ends ends = run_on(disk, sizes);
  // Room for the result is kept from the beginning: only a disk without any room goes without.
  EXPECT_LT(ends.without_result, 4);
  EXPECT_GT(ends.cut_with_result, 3);
  EXPECT_GT(ends.fine, 0);
}

// Where the log just fits, and then run.h5 more and more.
TEST(FullDisk, WhereTheLogFitsTheResultIsThereWhateverBecomesOfHdf5) {
  Folder whole;
  ASSERT_EQ(invar({"run", kCase, "-o", whole / "out"}).code, 0);
  const long log = kib(whole / "out/run.log"), hdf5 = kib(whole / "out/run.h5");
  const SmallDisk disk;
  std::vector<long> sizes;
  for (int k = 0; k < 25; ++k) sizes.push_back(disk.is_mounted() ? log - 16 + (hdf5 + 64) * k / 25 : log - 12 + 2 * k);
  const Ends ends = run_on(disk, sizes);
  EXPECT_GT(ends.without_hdf5, 3);
}

// From a log that is there: run.h5, pages and stills.
TEST(FullDisk, AtAnyFillLevelAReportIsWholeOrNotThere) {
  Folder whole;
  ASSERT_EQ(invar({"run", kCase, "-o", whole / "out"}).code, 0);
  for (const char* old : {"run.h5", "result.json", "report.html"}) fs::remove(whole / "out/" + old);
  const SmallDisk disk;
  const long log = kib(whole / "out/run.log");
  for (int k = 0; k < 12; ++k) {
    const long size = disk.is_mounted() ? log + 24 + 90 * k : 8 + 60 * k;
    SCOPED_TRACE(size);
    Folder after;
    const Ended e =
        disk.run(size, kProgram + " report $DISK/out --png $DISK/out/still.png --size 400 300", after.path(), whole.path());
    const Left left = look_at(after / "out");
    EXPECT_TRUE(left.complete);
    const bool still = fs::exists(after / "out/still.png");
    EXPECT_EQ(e.code, still ? 0 : 2) << e.err;
    if (still) {
      EXPECT_TRUE(has(read_file(after / "out/still.png"), "IEND"));
    }
    if (e.code == 2) {
      EXPECT_TRUE(has(e.err, "error: ")) << e.err;
    }
  }
}

// A run that would record more than the disk holds is not begun; one that is merely large is told.
TEST(FullDisk, RecordingsThatCannotFitAreRefusedBeforeAnythingIsTouched) {
  Folder folder;
  const auto every = [&](const std::string& seconds) {
    write_file(folder / "s.toml", "model = '" + model("pendulum") +
                                      "'\n[integrator]\nmethod = 'dopri5'\n[time]\nend = 1\n[record]\nevery = " + seconds + "\n");
  };
  every("0.1");
  ASSERT_EQ(invar({"run", folder / "s.toml", "-o", folder / "out"}).code, 0);
  const std::string before = read_file(folder / "out/run.h5");
  every("1e-13");
  const Ended e = invar({"run", folder / "s.toml", "-o", folder / "out"});
  EXPECT_EQ(e.code, 2) << e.err;
  EXPECT_TRUE(has(e.err, "s.toml:7:9: ") && has(e.err, "1e+13 samples") && has(e.err, "are free in")) << e.err;
  EXPECT_EQ(read_file(folder / "out/run.h5"), before);
}

// A run that is ended when it has said how large its recording will be, or that ends by itself.
std::string said_about_size(const std::string& file, const Folder& folder) {
  const pid_t child = start_invar({"run", file, "-o", folder / "out"}, "/dev/null", folder / "err");
  for (int k = 0; k < 3000 && !has(read_file(folder / "err"), "\n"); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGTERM);
  const int code = wait_for(child);
  EXPECT_TRUE(code == 2 || code == 130 || code == 128 + SIGTERM) << code;
  return read_file(folder / "err");
}

TEST(FullDisk, LargeRecordingsAreToldWithTheirNumbers) {
  Folder folder;
  // 2e7 samples of the time and nine energies: refused or told, whatever the disk.
  write_file(folder / "s.toml",
             "model = '" + model("pendulum") +
                 "'\n[integrator]\nmethod = 'rk4'\nstep = 1e-6\n[time]\nend = 20\n[record]\nwhat = ['energy']\n");
  const std::string said = said_about_size(folder / "s.toml", folder);
  EXPECT_TRUE(has(said, "2e+07 samples of 10 numbers") && has(said, "1.92 GB of run.log and 1.6 GB of run.h5")) << said;
  EXPECT_TRUE(has(said, "warning: ") || has(said, "are free in")) << said;
}

// A gigabyte for a second of a pendulum is told before it is written, also by check.
TEST(FullDisk, SamplesEveryNanosecondAreTold) {
  Folder folder;
  const std::string file = source_path("tests/edges/cases/s_dopri_every1e-9.toml");
  const std::string said = said_about_size(file, folder);
  EXPECT_TRUE(has(said, "s_dopri_every1e-9.toml:13:7: ") && has(said, "1e+09 samples of ")) << said;
  EXPECT_TRUE(has(said, "warning: ") || has(said, "are free in")) << said;
  const Ended e = invar({"check", file});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(has(e.err, "warning: ") && has(e.err, "the run will record 1e+09 samples of ")) << e.err;
}

// Where the file system has no files without a name, and where it has less room than wanted.
TEST(FullDisk, RoomForTheResultIsKeptOnAnyFileSystemOrMissed) {
  const SmallDisk disk;
  if (!disk.is_mounted()) GTEST_SKIP() << "needs a file system of its own";
  Folder whole;
  ASSERT_EQ(invar({"run", kCase, "-o", whole / "out"}).code, 0);
  const long log = kib(whole / "out/run.log");
  const std::string command = kProgram + " run " + kCase + " -o $DISK/out";
  Folder with_name, little;
  const Ended e = disk.run(log, "INVAR_NO_TMPFILE=1 " + kRoomy + command, with_name.path());
  const Left left = look_at(with_name / "out");
  expect_named(e, left);
  EXPECT_TRUE(left.log && !left.complete && left.result) << e.err;
  EXPECT_FALSE(has(e.err, "kept free")) << e.err;
  const Ended told = disk.run(48, kRoomy + command, little.path());
  EXPECT_TRUE(has(told.err, "warning: ") && has(told.err, "are kept free for result.json")) << told.err;
}

}  // namespace
}  // namespace invar::testing
