// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "invar/base/random.hpp"
#include "invar/io/model_file.hpp"
#include "invar/model/model.hpp"
#include "support/model_texts.hpp"

namespace invar {
namespace {

using testing::file_text;
using testing::model_paths;

/// Pieces that sit near the edges of the reader: of TOML, of numbers, of the model.
const char* const kPieces[] = {"nan",
                               "-inf",
                               "1e999",
                               "-0",
                               "9223372036854775807",
                               "1e-320",
                               "[",
                               "]",
                               "[[",
                               "{",
                               "}",
                               "=",
                               "\"",
                               "'''",
                               "\n",
                               ",",
                               "\\u0000",
                               "\xff",
                               "\xef\xbb\xbf",
                               "#",
                               ".",
                               "[[joint]]\n",
                               "[[body]]\n",
                               "[initial]\n",
                               "[]",
                               "{}",
                               "true",
                               "1979-05-27",
                               "locked = true\n",
                               "kind = \"free\"\n",
                               "axis = [0, 0, 0]\n",
                               "mass = 0\n",
                               "\"world\"",
                               "\"\""};

std::size_t index_in(Random& random, std::size_t size) {
  return size == 0 ? 0 : static_cast<std::size_t>(random.below(static_cast<int>(size)));
}

/// One small damage to a text.
std::string damaged(std::string text, const std::string& other, Random& random) {
  const std::size_t at = index_in(random, text.size());
  const std::size_t span = 1 + index_in(random, 40);
  switch (random.below(7)) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(random.below(256));
      break;
    case 1: text.erase(at, span); break;
    case 2: text.insert(at, text.substr(index_in(random, text.size()), span)); break;
    case 3: text.insert(at, kPieces[random.below(static_cast<int>(std::size(kPieces)))]); break;
    case 4:
      text.replace(at, std::min(span, text.size() - at), kPieces[random.below(static_cast<int>(std::size(kPieces)))]);
      break;
    case 5: text.resize(at); break;
    case 6: text.insert(at, other.substr(index_in(random, other.size()), 4 * span)); break;
  }
  return text;
}

TEST(ModelFile, DamagedFilesAreRefusedInWordsOrReadButNeverCrash) {
  Random random(20240501);
  std::vector<std::string> texts;
  for (const std::string& path : model_paths()) texts.push_back(file_text(path));
  int refused = 0, accepted = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (int k = 0; k < 200; ++k) {
      std::string text = texts[i];
      for (int times = 1 + random.below(2); times > 0; --times)
        text = damaged(std::move(text), texts[index_in(random, texts.size())], random);
      const auto spec = parse_model(text, "damaged");
      const auto model = spec ? Model::build(*spec) : tl::unexpected(spec.error());
      if (!model) {
        ++refused;
        EXPECT_FALSE(model.error().what.empty());
        EXPECT_EQ(model.error().where.rfind("damaged", 0), 0u) << model.error().text();
        continue;
      }
      // What was accepted holds finite numbers only and can be written and read again.
      ++accepted;
      EXPECT_TRUE(model->initial_q().allFinite());
      for (const Joint& j : model->joints()) EXPECT_TRUE(j.X_PF.p.allFinite() && j.X_CM.q.coeffs().allFinite());
      const std::string written = write_model(*spec);
      const auto again = parse_model(written, "again");
      ASSERT_TRUE(again) << again.error().text();
      EXPECT_EQ(write_model(*again), written);
    }
  }
  // Both outcomes must occur often, or the damage was of no use.
  EXPECT_GT(refused, 200);
  EXPECT_GT(accepted, 50);
}

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
