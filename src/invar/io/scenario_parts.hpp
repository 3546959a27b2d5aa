// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/signal.hpp"
#include "invar/io/toml_table.hpp"
#include "invar/run/scenario.hpp"

namespace invar {

/// Readers of the tables of a scenario file. What is wrong is noted in the document of the table (see TomlTable::refuse).

Method read_method(const TomlTable& root);
Sampling read_sampling(const TomlTable& root, const Method& method);
Start read_start(const TomlTable& root, const Model& model);
/// [[disturbance]] and [[effort]].
std::vector<std::shared_ptr<const Environment>> read_environments(const TomlTable& root, const Model& model);
/// [must].
std::vector<Law> read_laws(const TomlTable& root, const Model& model);

/// { kind = "pulse", from = 0.5, to = 1.5, value = 1 } under `key`; absent: constant one.
Signal read_signal(const TomlTable& table, const char* key);

}  // namespace invar
