// SPDX-License-Identifier: Apache-2.0
// File systems without locks (some network mounts) keep nobody from writing: only a lock that is held by somebody else does.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "invar/io/log.hpp"
#include "invar/io/output.hpp"
#include "invar/io/whole_file.hpp"
#include "support/folder.hpp"

namespace {

int lock_trouble = 0;  // errno of every flock; 0: as the system does it

}  // namespace

// In place of the one in the C library, for all of this program.
extern "C" int flock(int fd, int operation) noexcept {
  if (lock_trouble == 0) return static_cast<int>(::syscall(SYS_flock, fd, operation));
  errno = lock_trouble;
  return -1;
}

namespace invar::testing {
namespace {

class Locks : public ::testing::Test {
 protected:
  ~Locks() override { lock_trouble = 0; }
};

Result<void> write_log(const std::string& path) {
  LogWriter log(path);
  if (auto begun = log.begin({{{"time", "s", "", 1}}, "m", "s"}); !begun) return begun;
  return log.end();
}

TEST_F(Locks, ThatAFileSystemDoesNotHaveKeepNobodyOut) {
  for (const int trouble : {ENOLCK, ENOTSUP, ENOSYS}) {
    Folder folder;
    lock_trouble = trouble;
    EXPECT_TRUE(prepare_output(folder / "out", false));
    const auto written = write_log(folder / "out/run.log");
    EXPECT_TRUE(written) << written.error().text();
    EXPECT_FALSE(being_written(folder / "out/run.log"));
    EXPECT_TRUE(prepare_output(folder / "out", false)) << "again";
    const auto text = write_text(folder / "out/result.json", "{}");
    EXPECT_TRUE(text) << text.error().text();
    lock_trouble = 0;
  }
}

TEST_F(Locks, ThatOthersHoldDo) {
  Folder folder;
  lock_trouble = EWOULDBLOCK;
  EXPECT_FALSE(prepare_output(folder / "out", false));
  EXPECT_FALSE(write_log(folder / "run.log"));
  EXPECT_TRUE(being_written(folder / "run.log"));
  EXPECT_FALSE(write_text(folder / "result.json", "{}"));
}

}  // namespace
}  // namespace invar::testing
