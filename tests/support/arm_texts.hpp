// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "invar/io/scenario_file.hpp"
#include "support/places.hpp"

namespace invar::testing::arm_texts {

/// Texts of scenarios in which an arm is controlled. They are read as if they lay in scenarios/.
inline const std::string kPath = source_path("scenarios/here.toml");

/// With what a [[control]] table says, and tables after it.
inline std::string scenario(const std::string& control, const std::string& more = "") {
  return "model = '../models/arm.toml'\n[time]\nend = 1\n[integrator]\nmethod = 'rk4'\nstep = 0.01\n"
         "[initial.joints]\nshoulder = { q = -0.6 }\nelbow = { q = 1.4 }\nbend = { q = -0.8 }\n"
         "[[control]]\nname = 'arm'\n" +
         control + "\n" + more;
}

/// The tip stays where it starts.
inline const std::string kHere = "from_start = true, path = { position = { kind = 'fixed', p = [0, 0, 0] } }";
inline std::string task(const std::string& more) {
  return "law = 'task'\ntasks = [{ frame = 'tip', follow = 'position', " + kHere + " }]\n" + more;
}

/// A text, and a part of the sentence that refuses it.
struct Bad {
  std::string text;
  const char* sentence;
};
inline void expect_refused(const Bad& bad) {
  const auto s = parse_scenario(bad.text, kPath);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().where.rfind(kPath, 0), 0u) << s.error().text();
  EXPECT_NE(s.error().what.find(bad.sentence), std::string::npos) << s.error().text();
}

}  // namespace invar::testing::arm_texts
