// SPDX-License-Identifier: Apache-2.0
//
// The same machine seen with other names or from another World: what is learned anew there says the same.
//
// Both fits have the same sums but for round-off. With n samples, columns of unit mean square, C = G/n, r = b/n, one strength λ
// and H = C + λ, coefficients y = H⁻¹ r change by δy = H⁻¹ (δr - δC y). In the metric of the fit this is
//   |C^½ δy| <= |C^½ H⁻¹| |δr - δC y| <= (|δr| + |δC| |y|)/(2 √λ),
// because √x/(x + λ) is at most 1/(2 √λ). |y| <= |d|/(2 √λ) for the same reason, d the root mean square of the loads. Entries
// that are off by η each, independently, make |δC| = 2 η √m and |δr| = η √m |d| of m columns. Relative to |d|:
//   √m η (1 + 1/√λ)/(2 √λ).
// Rounding leaves η = 4e-16 in the mean. With λ = 1e-2 and 713 columns that is 7e-13, with weaker ridges it is more than 1e-12.
#include <gtest/gtest.h>

#include "invar/io/learned_file.hpp"
#include "invar/learn/domain.hpp"
#include "invar/learn/learn.hpp"
#include "invar/learn/learned_load.hpp"
#include "support/campaign.hpp"
#include "support/states.hpp"
#include "support/unknown_load.hpp"

namespace invar::testing {
namespace {

constexpr double kStrength = 1e-2;
double round_off(int columns, double strength) {
  return std::sqrt(columns) * 5e-16 * (1 + 1 / std::sqrt(strength)) / (2 * std::sqrt(strength));
}

constexpr int kBodies = 5;
// Bodies that are named alike change places: what was body1 is body4 now.
constexpr int kPlace[kBodies] = {3, 0, 4, 2, 1};

TermSpec term(TermKind kind, int cosines = 100) {
  TermSpec t;
  t.kind = kind, t.sharing = usual_sharing(kind), t.cosines = cosines;
  if (kind == TermKind::JointCoulomb) t.smoothing = {0.03, 0.08};
  return t;
}

/// The same mechanism with the names and places of its bodies exchanged; joints stay in their order.
ModelSpec permuted(ModelSpec spec) {
  const std::vector<BodySpec> before = spec.bodies;
  const auto renamed = [&](std::string& name) {
    for (int b = 0; b < kBodies; ++b)
      if (before[static_cast<std::size_t>(b)].name == name) {
        name = before[static_cast<std::size_t>(kPlace[b])].name;
        return;
      }
  };
  for (int b = 0; b < kBodies; ++b) {
    BodySpec& there = spec.bodies[static_cast<std::size_t>(kPlace[b])];
    const std::string name = there.name;
    there = before[static_cast<std::size_t>(b)], there.name = name;
  }
  for (JointSpec& j : spec.joints) renamed(j.parent), renamed(j.child);
  for (FrameSpec& f : spec.frames) renamed(f.body);
  return spec;
}

template <class Items>
Items permuted_items(const Items& items) {
  Items out = items;
  for (int b = 0; b < kBodies; ++b) out[static_cast<std::size_t>(kPlace[b])] = items[static_cast<std::size_t>(b)];
  return out;
}
/// And back again.
Port back(const Port& port) {
  Port out = port;
  for (int b = 0; b < kBodies; ++b) out[static_cast<std::size_t>(b)] = port[static_cast<std::size_t>(kPlace[b])];
  return out;
}
DataSample permuted(DataSample s) {
  s.bodies = permuted_items(s.bodies), s.accelerations = permuted_items(s.accelerations), s.port = permuted_items(s.port);
  return s;
}
DataSet permuted(DataSet data) {
  for (DataRun& run : data.runs)
    for (DataSample& s : run.samples) s = permuted(s);
  return data;
}

/// A nominal machine and data of it.
struct Machine {
  ModelSpec spec;
  DataSet data;
  Model model = build(spec);
};

/// How far apart two loads are as the motion of this machine shows them, √(Σ|a - b|²_A/Σ|a|²_A) over all samples; a(s) and
/// b(s) are wrenches about its centres of mass.
template <class A, class B>
double apart(const Machine& machine, A&& a, B&& b) {
  double between = 0, size = 0;
  MotionFactor factor(machine.model);
  for (const DataRun& run : machine.data.runs)
    for (const DataSample& s : run.samples) {
      EXPECT_TRUE(factor.at(s.bodies).ok() && factor.factor().ok());
      const Port pa = a(s), pb = b(s);
      VecX of_a = VecX::Zero(factor.rows()), of_difference = of_a;
      for (std::size_t k = 0; k < pa.size(); ++k) {
        factor.add(static_cast<int>(k), pa[k], of_a);
        factor.add(static_cast<int>(k), pa[k] - pb[k], of_difference);
      }
      size += of_a.squaredNorm(), between += of_difference.squaredNorm();
    }
  EXPECT_GT(size, 0);
  return std::sqrt(between / size);
}

// Terms with coefficients; sums over all samples.
struct Regression {
  Terms terms;
  Gram gram;
  VecX coefficients;

  Regression(const Machine& at, std::vector<TermSpec> specs, double strength) {
    for (TermSpec& t : specs)
      if (is_generic(t.kind)) t.scales = scales_of(at.data, at.model.length());
    terms = *Terms::build(at.model, specs);
    gram = *gram_of(at.model, terms, at.data);
    FitOptions options;
    options.strengths.assign(specs.size(), strength);
    const auto done = fit(terms, gram, gram, options);
    EXPECT_TRUE(done);
    coefficients = done->coefficients;
  }
  Port at(const DataSet& data, const DataSample& s) const {
    Port out(s.bodies.size());
    terms.add(s.bodies, data.around(s), coefficients.data(), out);
    return out;
  }
};

// Learned, written, read, and put on a machine.
std::shared_ptr<const Learned> file_of(const Machine& at, const std::vector<TermSpec>& terms) {
  LearnSpec spec;
  spec.terms = terms;
  spec.fit.strengths.assign(terms.size(), kStrength);
  const auto made = learn(at.spec, at.model, at.data, spec);
  EXPECT_TRUE(made) << (made ? "" : made.error().text());
  EXPECT_TRUE(made->learned.learned && made->learned.edits.empty());
  return std::make_shared<const Learned>(*parse_learned(write_learned(made->learned), "machine.learned.json"));
}
Port load_of(const std::shared_ptr<const Learned>& learned, const Model& model, const Bodies& bodies) {
  const auto load = LearnedLoad::build(std::make_shared<const Model>(model), learned);
  EXPECT_TRUE(load);
  Load out(model);
  load->add(0.0, bodies, out);
  return out.port;
}

Machine reference(std::uint64_t at, int runs, int samples) {
  const UnknownLoad u = UnknownLoad::reference();
  return {u.nominal, excited(u, seed(at), runs, samples, 0.05)};
}

std::vector<TermSpec> dictionary() {
  return {term(TermKind::Inertia), term(TermKind::JointViscous), term(TermKind::JointCoulomb), term(TermKind::Drag)};
}

// Columns of a body are the same numbers in both; sums have another order, and A another factor.
TEST(LearnedAnew, SaysTheSameOfAlikeBodiesThatChangePlaces) {
  const Machine here = reference(17350, 3, 40);
  const Machine there{permuted(here.spec), permuted(here.data)};
  std::vector<TermSpec> generic = dictionary();
  generic.push_back(term(TermKind::Fourier, 16));
  for (const std::vector<TermSpec>& specs : {dictionary(), generic}) {
    const Regression a(here, specs, kStrength), b(there, specs, kStrength);
    EXPECT_LT(apart(
                  here, [&](const DataSample& s) { return a.at(here.data, s); },
                  [&](const DataSample& s) { return back(b.at(there.data, permuted(s))); }),
              1e-12)
        << a.terms.columns() << " columns";
  }
}

// Edits and load together, as they are written, leave the same of the data: an error changes by no more than loads do.
TEST(LearnedAnew, WritesEditsThatAreWorthTheSame) {
  const Machine here = reference(17355, 3, 40);
  Random random(17356);
  const Quat q = random_attitude(random);
  LearnSpec spec;
  spec.terms = dictionary();
  spec.fit.strengths.assign(spec.terms.size(), kStrength);
  const auto a = learn(here.spec, here.model, here.data, spec);
  ASSERT_TRUE(a);
  EXPECT_FALSE(a->learned.edits.empty());
  for (const Machine& there :
       {Machine{permuted(here.spec), permuted(here.data)}, Machine{turned(here.spec, q), turned(here.data, q)}}) {
    const auto b = learn(there.spec, there.model, there.data, spec);
    ASSERT_TRUE(b);
    EXPECT_EQ(a->learned.edits.size(), b->learned.edits.size());
    EXPECT_NEAR(a->written, b->written, 1e-12);
  }
}

DataSample turned(const DataSample& s, const Quat& q) {
  DataSet one;
  one.runs = {{"one", {s}}};
  return turned(std::move(one), q).runs[0].samples[0];
}

// Terms that are all load, 156 columns: what the file that was learned here says on either machine, and what the one that was
// learned there says.
TEST(LearnedAnew, WritesFilesThatSayTheSame) {
  const Machine here = reference(17351, 3, 40);
  Random random(17352);
  const Quat q = random_attitude(random);
  const Machine exchanged{permuted(here.spec), permuted(here.data)}, elsewhere{turned(here.spec, q), turned(here.data, q)};
  const std::vector<TermSpec> specs = {term(TermKind::Drag), term(TermKind::Fourier, 16)};
  const auto file = file_of(here, specs);
  const auto here_says = [&](const DataSample& s) { return load_of(file, here.model, s.bodies); };
  for (const auto& learned : {file, file_of(exchanged, specs)})
    EXPECT_LT(
        apart(here, here_says, [&](const DataSample& s) { return back(load_of(learned, exchanged.model, permuted(s).bodies)); }),
        1e-12);
  for (const auto& learned : {file, file_of(elsewhere, specs)})
    EXPECT_LT(apart(here, here_says,
                    [&](const DataSample& s) {
                      Port port = load_of(learned, elsewhere.model, turned(s, q).bodies);
                      for (Wrench& w : port) w = {q.conjugate() * w.moment, q.conjugate() * w.force};
                      return port;
                    }),
              1e-12);
}

// Coefficients are those of body axes, so both are judged by the sums of one World.
TEST(LearnedAnew, SaysTheSameInATurnedWorldWithHundredCosines) {
  const Machine here = reference(17353, 4, 50);
  std::vector<TermSpec> specs = dictionary();
  specs.push_back(term(TermKind::Fourier));
  Random random(17354);
  const Quat q = random_attitude(random);
  const Machine there{turned(here.spec, q), turned(here.data, q)};
  ASSERT_LT(round_off(713, kStrength), 1e-12);
  for (const double strength : {kStrength, 1e-4, 1e-6}) {
    const Regression a(here, specs, strength), b(there, specs, strength);
    ASSERT_EQ(a.terms.columns(), 713);
    const VecX difference = a.coefficients - b.coefficients;
    EXPECT_LT(std::sqrt(difference.dot(a.gram.G * difference) / a.gram.dd), round_off(713, strength)) << strength;
  }
}

}  // namespace
}  // namespace invar::testing
