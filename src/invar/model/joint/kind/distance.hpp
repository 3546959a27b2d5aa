// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/model/joint/facts.hpp"

namespace invar::kind {

/// The origins of F and M stay at a distance, m. It closes a loop: (p·p - l²)/(2l) = 0, metres.
inline Facts distance(double length) {
  Form form;
  form.e = 0.5 / length, form.c = 0.5 * length;
  return FactsOf("distance").form(form).none().facts();
}

}  // namespace invar::kind
