// SPDX-License-Identifier: Apache-2.0
//
// [[control]]: what a law does against what it does not know, beside integral action, and what is known of that before the run.
// See docs/control.md.
#include <fmt/format.h>

#include "invar/io/control_parts.hpp"
#include "invar/run/calibration.hpp"

namespace invar {
namespace {

RemainderBound read_bound(const TomlTable& t) {
  RemainderBound bound;
  if (t.has("remainder")) bound.most = positive(t, "remainder", bound.most);
  bound.after = positive(t, "after", 0, true);
  bound.confidence = t.number("confidence", 0);
  bound.runs = t.integer("runs", 0);
  if (!t.has("remainder") && (t.has("confidence") || t.has("runs")))
    t.refuse("", "'confidence' and 'runs' say how sure a bound is: give it as 'remainder', N/sqrt(kg)");
  if (t.has("confidence") != t.has("runs")) t.refuse("", "'confidence' and 'runs' go together: neither says much alone");
  if (t.has("runs") && bound.runs < 1) t.refuse("runs", "a bound is found from at least one run");
  if (t.has("confidence") && t.has("runs") && bound.runs > 0)
    if (const auto no = claimable(bound.runs, bound.confidence); !no) t.refuse("confidence", no.error().what);
  return bound;
}

}  // namespace

LoopParts read_loop_parts(const ControlTable& r, bool printed) {
  LoopParts out;
  if (const auto t = r.table.table("observer")) {
    if (t->has("rate")) out.observer = positive(*t, "rate", 0);
    if (!t->has("rate")) t->refuse("", "an observer needs its 'rate', 1/s: how fast it follows what the model does not know");
    const double period = r.table.number("period", 0);
    if (period > 0 && out.observer * period > 1)
      t->refuse("rate", fmt::format("an observer of {:g} 1/s is faster than ticks of {:g} s can show: at most {:g}", out.observer,
                                    period, 1 / period));
    if (printed) r.table.refuse("observer", "the printed law has none");
  }
  if (const auto t = r.table.table("bound")) {
    out.bound = read_bound(*t);
    if (printed && out.bound.known()) r.table.refuse("bound", "the printed law promises nothing that a bound could follow from");
  }
  if (r.learned) {
    out.known = r.learned->known;
    if (!r.table.has("bound") && r.learned->learned) out.bound = r.learned->learned->bound.value_or(out.bound);
  }
  return out;
}

}  // namespace invar
