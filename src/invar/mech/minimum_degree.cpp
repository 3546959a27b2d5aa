// SPDX-License-Identifier: Apache-2.0
// Minimum degree on a quotient graph. A body with d joints makes a clique of d blocks in S, so bodies are the elements of the
// quotient graph from the start and no edge between two blocks is ever stored. Eliminating block p joins all elements of p
// into one, L_p; the degree of a neighbour v is bounded by |L_p \ v| + Σ_e |L_e \ L_p| over its other elements e, where the
// set differences of all e cost one pass. Blocks with equal element lists are one variable from then on.
#include <algorithm>
#include <queue>

#include "invar/mech/front_tree.hpp"

namespace invar {
namespace {

class QuotientGraph {
 public:
  explicit QuotientGraph(const KktStructure& s)
      : elements_(static_cast<std::size_t>(s.bodies())), variables_(static_cast<std::size_t>(s.blocks())), queue_() {
    for (int j = 0; j < s.blocks(); ++j) {
      const KktBlock& block = s.block(j);
      if (block.rows == 0) continue;
      Variable& v = variable(j);
      v.alive = true;
      v.weight = block.rows;
      v.members = {j};
      remaining_ += block.rows;
      for (int t = block.first_touch; t < block.first_touch + block.touches; ++t) {
        v.elements.push_back(s.body(t));
        element(s.body(t)).variables.push_back(j);
        element(s.body(t)).weight += block.rows;
      }
    }
    for (int j = 0; j < s.blocks(); ++j)
      if (variable(j).alive) set_degree(j, initial_degree(j));
  }

  std::vector<EliminationStep> run() {
    while (!queue_.empty()) {
      const auto [degree, p] = queue_.top();
      queue_.pop();
      if (variable(p).alive && variable(p).degree == degree) eliminate(p);
    }
    return std::move(steps_);
  }

 private:
  struct Element {
    std::vector<int> variables;
    int weight = 0;   // rows of its variables
    int outside = 0;  // |L_e \ L_p| while stamp is the current step
    int stamp = -1;
    int step = -1;  // the elimination step that made it, -1 for a body
    bool alive = true;
  };
  struct Variable {
    std::vector<int> elements, members;
    int weight = 0, degree = 0, stamp = -1;
    std::size_t hash = 0;
    bool alive = false;
  };
  using Entry = std::pair<int, int>;  // degree, variable

  Element& element(int e) { return elements_[static_cast<std::size_t>(e)]; }
  Variable& variable(int v) { return variables_[static_cast<std::size_t>(v)]; }

  void set_degree(int v, int degree) {
    variable(v).degree = degree;
    queue_.push({degree, v});
  }

  int initial_degree(int v) {
    int degree = 0;
    for (int e : variable(v).elements) degree += element(e).weight - variable(v).weight;
    return degree;
  }

  // The new element: everything that shares an element with p. Its elements are absorbed.
  void collect(int p, int step) {
    coupled_.clear();
    variable(p).stamp = step;
    for (int e : variable(p).elements) {
      if (!element(e).alive) continue;
      for (int v : element(e).variables)
        if (variable(v).alive && variable(v).stamp != step) {
          variable(v).stamp = step;
          coupled_.push_back(v);
        }
      absorb(e, step);
    }
  }

  void absorb(int e, int step) {
    element(e).alive = false;
    if (element(e).step >= 0) steps_[static_cast<std::size_t>(element(e).step)].parent = step;
    std::vector<int>().swap(element(e).variables);
  }

  // |L_e \ L_p| for all elements that meet L_p; those inside L_p are absorbed as well.
  void measure_outside(int step) {
    for (int v : coupled_)
      for (int e : variable(v).elements) {
        Element& other = element(e);
        if (!other.alive) continue;
        if (other.stamp != step) {
          other.stamp = step;
          other.outside = other.weight;
        }
        other.outside -= variable(v).weight;
      }
    for (int v : coupled_)
      for (int e : variable(v).elements)
        if (element(e).alive && element(e).outside == 0) absorb(e, step);
  }

  void eliminate(int p) {
    const int step = static_cast<int>(steps_.size());
    steps_.emplace_back();
    collect(p, step);
    measure_outside(step);
    Variable& pivot = variable(p);
    pivot.alive = false;
    steps_.back().pivots = pivot.members;

    // Blocks coupled to nothing else go with the pivot.
    int width = 0;
    std::vector<int> rest;
    for (int v : coupled_) {
      std::erase_if(variable(v).elements, [&](int e) { return !element(e).alive; });
      if (variable(v).elements.empty()) {
        variable(v).alive = false;
        remaining_ -= variable(v).weight;
        steps_.back().pivots.insert(steps_.back().pivots.end(), variable(v).members.begin(), variable(v).members.end());
      } else {
        width += variable(v).weight;
        rest.push_back(v);
      }
    }
    remaining_ -= pivot.weight;
    add_element(rest, width, step);
  }

  void add_element(const std::vector<int>& rest, int width, int step) {
    if (rest.empty()) return;
    const int made = static_cast<int>(elements_.size());
    elements_.emplace_back();
    for (int v : rest) {
      Variable& var = variable(v);
      int outside = 0;
      var.hash = 0;
      for (int e : var.elements) {
        outside += element(e).outside;
        var.hash += static_cast<std::size_t>(e) * 2654435761u;
      }
      var.elements.push_back(made);
      var.degree = std::min({remaining_ - var.weight, var.degree + width - var.weight, width - var.weight + outside});
    }
    merge_equal(rest);
    for (int v : rest)
      if (variable(v).alive) {
        element(made).variables.push_back(v);
        queue_.push({variable(v).degree, v});
        const std::vector<int>& members = variable(v).members;
        steps_.back().updates.insert(steps_.back().updates.end(), members.begin(), members.end());
      }
    element(made).weight = width;
    element(made).step = step;
  }

  // Variables with the same elements stay together to the end.
  void merge_equal(const std::vector<int>& rest) {
    sorted_.assign(rest.begin(), rest.end());
    std::sort(sorted_.begin(), sorted_.end(),
              [&](int a, int b) { return variable(a).hash != variable(b).hash ? variable(a).hash < variable(b).hash : a < b; });
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      Variable& a = variable(sorted_[i]);
      if (!a.alive) continue;
      for (std::size_t k = i + 1; k < sorted_.size() && variable(sorted_[k]).hash == a.hash; ++k) {
        Variable& b = variable(sorted_[k]);
        if (!b.alive || b.elements.size() != a.elements.size() ||
            !std::is_permutation(a.elements.begin(), a.elements.end(), b.elements.begin()))
          continue;
        a.weight += b.weight;
        a.degree = std::max(0, a.degree - b.weight);
        a.members.insert(a.members.end(), b.members.begin(), b.members.end());
        b.alive = false;
      }
    }
  }

  std::vector<Element> elements_;
  std::vector<Variable> variables_;
  std::vector<int> coupled_, sorted_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  std::vector<EliminationStep> steps_;
  int remaining_ = 0;
};

}  // namespace

std::vector<EliminationStep> minimum_degree(const KktStructure& structure) { return QuotientGraph(structure).run(); }

}  // namespace invar
