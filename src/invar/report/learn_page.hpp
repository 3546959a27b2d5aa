// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/base/error.hpp"
#include "invar/learn/rivals.hpp"

namespace invar {

/// data.json of the page of something learned (docs/page-data.md): learning curves of all contenders, errors in turned Worlds,
/// coefficients, and in words what the data do not determine.
std::string learn_page_data(const LearnResult& result, const Worth& worth, const std::string& title);

/// The page itself. Fails where the library has no viewer.
Result<void> write_learn_page(const LearnResult& result, const Worth& worth, const std::string& title, const std::string& path);

}  // namespace invar
