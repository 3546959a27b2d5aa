// SPDX-License-Identifier: Apache-2.0
// What `invar info` asks for on long chains grows like their length. (Once it formed a partition per body: n⁴, and out of memory
// at 400 hinges.)
#include <gtest/gtest.h>

#include <sstream>

#include "invar/io/model_file.hpp"
#include "program.hpp"
#include "support/linkages.hpp"
#include "support/places.hpp"

namespace invar::testing {
namespace {

struct Used {
  double seconds = 0;    // of the processor
  double kibibytes = 0;  // at most, at one time
};

// The least of several: what else the machine does only adds. Whoever starts a program counts to its largest memory, so somebody
// small does.
constexpr const char* kMeasure = R"(
import os, sys
runs = []
for _ in range(3):
    quiet = [(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.argv[1], ['invar', 'info', sys.argv[2]], os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    if status != 0: sys.exit('info failed')
    runs.append((used.ru_utime + used.ru_stime, used.ru_maxrss))
print(min(r[0] for r in runs), min(r[1] for r in runs))
)";

Used info_of_chain(int hinges) {
  const Folder folder;
  write_file(folder / "chain.toml", write_model(hinge_chain(hinges)));
  std::istringstream out(python(kMeasure, {binary_path("invar"), folder / "chain.toml"}));
  Used used;
  EXPECT_TRUE(out >> used.seconds >> used.kibibytes) << out.str();
  return used;
}

// Five times as many hinges take five times as much memory beyond that of a short chain, and somewhat more where vectors double;
// with one matrix of n² numbers it would be nine times. Time is less certain on a busy machine: twice as much as in proportion is
// allowed, squares would take 25 times.
TEST(InfoOfLongChains, GrowsLikeTheirLength) {
  const Used few = info_of_chain(2), some = info_of_chain(400), many = info_of_chain(2000);
  EXPECT_LE(many.kibibytes - few.kibibytes, 7 * (some.kibibytes - few.kibibytes));
  EXPECT_LE(many.seconds, 10 * some.seconds);
  EXPECT_GT(few.kibibytes, 0);
}

}  // namespace
}  // namespace invar::testing
