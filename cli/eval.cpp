// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "console.hpp"
#include "invar/io/model_file.hpp"
#include "invar/io/state_json.hpp"
#include "invar/mech/minimal/minimal.hpp"
#include "invar/run/method.hpp"
#include "invar/run/words.hpp"

namespace invar::cli {
namespace {

constexpr double kMatrixNumbers = 1e8;  // of --matrices, at most

struct Arguments {
  std::string model, state, port, efforts, formulation = "augmented";
  bool pretty = false, matrices = false;
};

std::string shown(const std::string& path) { return path == "-" ? "stdin" : path; }

// The state: as it is when given by bodies (the residual says how far they are off), assembled when by joints.
// Joints that had to give way are told.
Result<State> state_of(Formulation& formulation, const ModelSpec& spec, const Arguments& args, std::vector<std::string>& told) {
  const Model& model = formulation.model();
  Start start(model);
  if (!args.state.empty()) {
    auto text = read_text(args.state);
    if (!text) return tl::unexpected(text.error());
    auto read = start_from_json(model, *text, shown(args.state));
    if (!read) return tl::unexpected(read.error());
    start = std::move(*read);
  }
  if (start.by_bodies) {
    State x;
    formulation.set(start.bodies, x);
    return x;
  }
  auto x = state_at(formulation, start);
  if (x) {
    told = displaced(formulation, start, *x);
    return x;
  }
  return fail(x.error().kind, x.error().what, args.state.empty() ? start_place(spec, x.error().what) : shown(args.state));
}

Result<Load> load_of(const Model& model, const Arguments& args) {
  Load load(model);
  if (!args.port.empty()) {
    auto text = read_text(args.port);
    if (!text) return tl::unexpected(text.error());
    if (auto fine = port_from_json(model, *text, shown(args.port), load); !fine) return tl::unexpected(fine.error());
  }
  if (!args.efforts.empty()) {
    auto text = read_text(args.efforts);
    if (!text) return tl::unexpected(text.error());
    if (auto fine = efforts_from_json(model, *text, shown(args.efforts), load); !fine) return tl::unexpected(fine.error());
  }
  return load;
}

Result<std::string> evaluate(const Model& model, const ModelSpec& spec, const Arguments& args, std::vector<std::string>& told) {
  const int from_stdin = (args.state == "-") + (args.port == "-") + (args.efforts == "-");
  if (from_stdin > 1) return fail(ErrorKind::Option, "only one of --state, --port and --efforts can be read from stdin");
  Method method;
  method.formulation = args.formulation;
  if (args.matrices && args.formulation != "minimal")
    return fail(ErrorKind::Option, "--matrices are those of minimal coordinates: say --formulation minimal");
  const auto formulation = make_formulation(model, method);
  auto x = state_of(*formulation, spec, args, told);
  if (!x) return tl::unexpected(x.error());
  auto load = load_of(model, args);
  if (!load) return tl::unexpected(load.error());

  Evaluation out;
  if (const Verdict verdict = formulation->evaluate(*x, *load, out); !verdict.ok())
    return fail(ErrorKind::Numerics, words(verdict, model), args.model);
  if (!args.matrices) return evaluation_json(model, out, args.pretty);
  Partition partition;
  const JointTree& tree = dynamic_cast<const Minimal&>(*formulation).tree();
  // Γ_i, J_i and J̇_i of every body and ∂Γ of every freedom.
  const double n = static_cast<double>(tree.independent().size()), bodies = static_cast<double>(model.bodies().size());
  if (const double numbers = n * n * (n + bodies) + 12 * n * bodies; numbers > kMatrixNumbers)
    return fail(
        ErrorKind::Option,
        fmt::format("--matrices of {} freedoms and {} bodies are {:.2g} numbers, more than {:.2g}: too many to be written", n,
                    bodies, numbers, kMatrixNumbers),
        args.model);
  if (const Verdict verdict = partition_at(tree, x->q, x->v, x->wound, *load, partition); !verdict.ok())
    return fail(ErrorKind::Numerics, words(verdict, model), args.model);
  return evaluation_json(model, out, args.pretty, &partition);
}

void eval_verb(const Arguments& args, Context& context) {
  std::vector<std::string> warnings;
  ModelSpec spec;
  auto model = read_model(args.model, &warnings, &spec);
  warn(warnings, context);
  if (!model) return report(model.error(), context);
  std::vector<std::string> told;
  auto text = evaluate(*model, spec, args, told);
  for (const std::string& sentence : told) say("note: " + sentence, context);
  if (!text) return report(text.error(), context);
  put(stdout, printable_json(*text) + "\n");
}

}  // namespace

void add_eval(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("eval", "Accelerations, reactions and energies at one state, as JSON");
  auto args = std::make_shared<Arguments>();
  verb->add_option("model", args->model, "Model file")->required();
  verb->add_option("--state", args->state,
                   "State by bodies or by joints, JSON file or - for stdin; default: [initial] of the model, at rest");
  verb->add_option("--port", args->port, "Wrenches at the centres of mass, JSON file or -");
  verb->add_option("--efforts", args->efforts, "Joint efforts, JSON file or -");
  verb->add_option("--formulation", args->formulation, "View of the mechanism")->check(CLI::IsMember(formulation_names()));
  verb->add_flag("--matrices", args->matrices,
                 "With --formulation minimal: inertia body by body, its derivatives, C, h, Q, E and accelerations");
  verb->add_flag("--pretty", args->pretty, "Indent the JSON");
  verb->footer(
      "Example: echo '{\"joints\": {\"hinge\": {\"q\": [0.3], \"v\": [1]}}}' | invar eval models/pendulum.toml --state - "
      "--pretty");
  verb->callback([args, &context] { eval_verb(*args, context); });
}

}  // namespace invar::cli
