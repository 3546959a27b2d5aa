// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "invar/io/model_file.hpp"

namespace invar {
namespace {

TEST(ModelFile, DeepNestingIsRefused) {
  const std::string deep = "gravity = " + std::string(100000, '[') + std::string(100000, ']');
  EXPECT_FALSE(parse_model(deep, "deep"));
  std::string tables = "initial = ";
  for (int i = 0; i < 100000; ++i) tables += "{ a = ";
  EXPECT_FALSE(parse_model(tables, "deep"));
  // Dotted keys nest as well, in assignments, headers and inline tables, with quotes in between.
  for (const std::string piece : {".a", ".'#'", ".\"\\\", = \""}) {
    std::string dotted = "a";
    for (int i = 0; i < 300000; ++i) dotted += piece;
    EXPECT_FALSE(parse_model(dotted + " = 1\n", "deep"));
    EXPECT_FALSE(parse_model("name = '''\n'''\n[" + dotted + "]\n", "deep"));
    EXPECT_FALSE(parse_model("initial = { " + dotted + " = 1 }\n", "deep"));
  }
  // Dots elsewhere are only dots.
  const std::string dots(1000, '.');
  EXPECT_TRUE(parse_model("name = \"" + dots + "\"  # " + dots + "\n", "dots"));
  EXPECT_TRUE(parse_model("name = \"\"\"\n" + dots + "\"\"\"\n", "dots"));
}

}  // namespace
}  // namespace invar
