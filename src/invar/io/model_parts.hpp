// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/io/toml_table.hpp"
#include "invar/model/spec.hpp"

// Readers of the tables of a model file that other files have too; for the sources of this room only.
namespace invar {

/// Where meshes are looked for, whichever file names them: the folder of the model.
std::string mesh_folder(const std::string& model_path);

/// [[body]] and [[joint]].
BodySpec read_body(const TomlTable& table, const std::string& mesh_folder);
JointSpec read_joint(const TomlTable& table);

/// mass, com, inertia or shape, shapes.
void read_mass(const TomlTable& table, const std::string& mesh_folder, BodySpec& body);

/// Joint coordinates under a key: numbers, or { p, q } for a free joint.
std::vector<double> read_coordinates(const TomlTable& table, const std::string& key);

/// polynomial, or offset and ratio.
std::vector<double> read_map(const TomlTable& table);

}  // namespace invar
