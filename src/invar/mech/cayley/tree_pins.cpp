// SPDX-License-Identifier: Apache-2.0
// Trees in the plane whose joints are all pins, and which no tie closes, leave their Newton iterations to Pins.
#include <algorithm>
#include <cmath>

#include "invar/mech/cayley/tree.hpp"

namespace invar::cayley {

// A tendon between two points, of a body and of the one it hangs on: the slot of the outer body, or 0.
template <class G>
int Tree<G>::edge_of(const Line<G>& line) const {
  if (line.count != 2) return 0;
  const int a = points_[line.first].slot, b = points_[line.first + 1].slot;
  if (b != 0 && slots_[b].inner == a) return b;
  return a != 0 && slots_[a].inner == b ? a : 0;
}

template <class G>
void Tree<G>::compile_pins() {
  if constexpr (G::A == 1) {
    const bool pinned =
        skeleton_.closures.empty() && model_.couplings().empty() &&
        std::all_of(slots_.begin() + 1, slots_.end(), [](const Slot<G>& b) { return b.hang == Hang::Ball; }) &&
        std::all_of(lines_.begin(), lines_.end(), [&](const Line<G>& line) { return !line.stiff || edge_of(line) != 0; });
    if (!pinned) return;
    std::vector<Pins::Pin> pins(slots_.size());
    for (std::size_t i = 1; i < slots_.size(); ++i) {
      const Slot<G>& b = slots_[i];
      pins[i].inner = b.inner;
      pins[i].mass = b.mass;
      pins[i].J = b.J(0, 0);
      pins[i].size = b.size;
      pins[i].arm = Complex(Lin(slots_[b.inner].gam + b.rho));
      pins[i].gam = Complex(b.gam);
    }
    std::vector<Pins::Edge> edges;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      const int outer = edge_of(lines_[l]);
      if (outer == 0) continue;
      lines_[l].edge = true;
      lines_[l].stiff = false;
      const auto* points = points_.data() + lines_[l].first;
      const auto &out = points[0].slot == outer ? points[0] : points[1], &in = points[0].slot == outer ? points[1] : points[0];
      const Slot<G>& b = slots_[outer];
      edges.push_back(
          {static_cast<int>(l), outer, Complex(Lin(b.gam + out.arm)), Complex(Lin(in.arm - b.rho)), out.off - in.off});
    }
    pins_.hang(std::move(pins), std::move(edges));
  }
}

// Edges where node 1 is put before the first step.
template <class G>
void Tree<G>::place_pins() {
  if constexpr (G::A == 1) {
    if (pins_.empty()) return;
    guess_.assign(guess_.size(), 0.0);
    start_pins();
    pins_.forward(0);
    for (Pins::Edge& edge : pins_.edges()) lines_[edge.line].length1 = pins_.stretch(edge, 0);
  }
}

// Node 0 and the guess; returns what speed() does.
template <class G>
double Tree<G>::start_pins() {
  double largest = 0;
  if constexpr (G::A == 1)
    for (std::size_t i = 1; i < slots_.size(); ++i) {
      const Slot<G>& b = slots_[i];
      Pins::Pin& pin = pins_.pins()[i];
      pin.r0 = {b.R0(0, 0), b.R0(1, 0)};
      pin.v0 = {b.v0.x(), b.v0.y()};
      pin.W0 = b.W0[0];
      pin.w = guess_[i - 1];
      if (b.massive) largest = std::max({largest, dot(pin.v0, pin.v0), pin.size * pin.size * pin.W0 * pin.W0});
    }
  return std::sqrt(largest);
}

// What Tree::finish does for every slot.
template <class G>
bool Tree<G>::finish_pins(double h) {
  if constexpr (G::A == 1) {
    pins_.forward(h);
    pins_.travel();
    for (std::size_t i = 1; i < slots_.size(); ++i) {
      Slot<G>& b = slots_[i];
      const Pins::Pin& pin = pins_[static_cast<int>(i)];
      if (!(h * h * pin.w * pin.w < 4)) return false;
      const Pins::Pin& inner = pins_[pin.inner];
      const Complex rho = inner.r1 * Complex(b.rho), gam = pin.r1 * pin.gam, phi = pin.p1 + gam;
      const Complex v = pin.V + pin.w * (pin.u * pin.gam);
      b.w[0] = pin.w;
      b.v = Lin(v.x, v.y);
      b.R1 << pin.r1.x, -pin.r1.y, pin.r1.y, pin.r1.x;
      b.rho1 = Lin(rho.x, rho.y);
      b.gam1 = Lin(gam.x, gam.y);
      b.r1 = Lin(rho.x + gam.x, rho.y + gam.y);
      b.phi1 = Lin(phi.x, phi.y);
      b.v1 = Lin(2 * v.x - pin.v0.x, 2 * v.y - pin.v0.y);
      b.W1[0] = 2 * pin.w - pin.W0;
    }
    for (Pins::Edge& edge : pins_.edges()) lines_[edge.line].length1 = pins_.stretch(edge, h);
  }
  return true;
}

template <class G>
void Tree<G>::forward_pins(double h, const Load* load) {
  if constexpr (G::A == 1) {
    pins_.forward(h);
    if (load == nullptr) return;
    for (std::size_t body = 0; body < load->port.size(); ++body) {
      const int i = skeleton_.places[body].part;
      pins_.push(i, Complex(centres_[body]), Complex(Lin(h * lin(load->port[body].force))), h * ang(load->port[body].moment)[0],
                 h);
    }
  }
}

// Tree::pull on pins.
template <class G>
void Tree<G>::pull_pins(double h) {
  if constexpr (G::A == 1) {
    for (Pins::Edge& edge : pins_.edges()) {
      Line<G>& line = lines_[edge.line];
      line.length1 = pins_.stretch(edge, h);
      line.now = tension_over(*line.tendon, line.length0, line.length1, h);
      line.lost = line.now.lost;
      pins_.pull(edge, line.now.value, line.now.slope, line.length0, line.length1, h);
    }
    if (pins_.edges().size() == lines_.size()) return;
    pins_.travel();
    for (Line<G>& line : lines_) {
      if (line.edge) continue;
      auto* points = points_.data() + line.first;
      Complex before;
      line.length1 = 0;
      for (int k = 0; k < line.count; ++k) {
        auto& p = points[k];
        const Complex at = pins_.position(p.slot, Complex(p.arm));
        p.p1 = at.vector();
        if (k > 0) {
          const double off = p.off - points[k - 1].off;
          const Complex d = at - before;
          p.span1 = std::sqrt(dot(d, d) + off * off);
          line.length1 += p.span1;
        }
        before = at;
      }
      line.now = tension_over(*line.tendon, line.length0, line.length1, h);
      line.lost = line.now.lost;
      if (line.now.value == 0) continue;
      for (int k = 1; k < line.count; ++k) {
        const auto &from = points[k - 1], &to = points[k];
        const double both = to.span0 + to.span1;
        if (both == 0) continue;
        const Complex chord = (Complex(to.p0) - Complex(from.p0)) + (Complex(to.p1) - Complex(from.p1));
        const Complex impulse = (h * line.now.value / both) * chord;
        pins_.push(from.slot, Complex(from.arm), impulse, 0, h);
        pins_.push(to.slot, Complex(to.arm), -1.0 * impulse, 0, h);
      }
    }
  }
}

#define INVAR_MEMBERS(G)                                    \
  template int Tree<G>::edge_of(const Line<G>&) const;      \
  template void Tree<G>::compile_pins();                    \
  template void Tree<G>::place_pins();                      \
  template double Tree<G>::start_pins();                    \
  template bool Tree<G>::finish_pins(double);               \
  template void Tree<G>::forward_pins(double, const Load*); \
  template void Tree<G>::pull_pins(double);
INVAR_MEMBERS(InSpace)
INVAR_MEMBERS(InPlane)
#undef INVAR_MEMBERS

}  // namespace invar::cayley
