// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "program.hpp"

namespace invar::testing {

/// Runs commands of a shell, in a process of its own.
inline Ended shell(const std::string& commands) {
  Folder folder;
  write_file(folder / "script", commands);
  const std::string line = "bash " + (folder / "script") + " >" + (folder / "out") + " 2>" + (folder / "err") + " </dev/null";
  const int status = std::system(line.c_str());
  Ended ended;
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.out = read_file(folder / "out");
  ended.err = read_file(folder / "err");
  return ended;
}

inline std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// A file system of some KiB, seen by the commands alone that run on it: a mount in a name space of its own. Where that is not
/// allowed, files that may not grow beyond those KiB each do instead. The test says which; root has to be allowed.
class SmallDisk {
 public:
  SmallDisk() {
    for (const char* way : {"unshare -m", "unshare -rm"})
      if (way_.empty() && shell(std::string(way) + " mount -t tmpfs -o size=8k none " + quoted(place_.path())).code == 0)
        way_ = way;
    const std::string name = is_mounted() ? "a file system of its own (" + way_ + ")" : "files of limited size (ulimit -f)";
    std::printf("the small disk is %s\n", name.c_str());
    ::testing::Test::RecordProperty("small_disk", name);
    EXPECT_TRUE(is_mounted() || ::geteuid() != 0) << "root can mount: a limit on files alone tests less";
  }
  /// Whether it is a file system of its own.
  bool is_mounted() const { return !way_.empty(); }

  /// Runs `commands`, in which $DISK is the small directory, into which `before` is copied first, without a limit; then what is
  /// there is copied to `after`. The exit code is that of the commands.
  Ended run(long kib, const std::string& commands, const std::string& after, const std::string& before = {}) const {
    const std::string copy = before.empty() ? "" : "cp -a " + quoted(before) + "/. $DISK/ || exit 98\n";
    const std::string limit = "bash -c " + quoted("ulimit -f " + std::to_string(kib) + "; " + commands);
    const std::string body = "export DISK=" + quoted(place_.path()) + "\n" + copy +
                             (is_mounted() ? "bash -c " + quoted(commands) : limit) + "\ncode=$?\ncp -a $DISK/. " +
                             quoted(after) + "\n" + (is_mounted() ? "" : "rm -rf $DISK/*\n") + "exit $code\n";
    if (!is_mounted()) return shell(body);
    Folder folder;
    write_file(folder / "body",
               "mount -t tmpfs -o size=" + std::to_string(kib) + "k none " + quoted(place_.path()) + " || exit 99\n" + body);
    return shell(way_ + " bash " + (folder / "body"));
  }

 private:
  Folder place_;
  std::string way_;
};

}  // namespace invar::testing
