// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "invar/base/error.hpp"
#include "invar/model/model.hpp"

namespace invar {

/// Version of the model file format that this library writes; files of a later one are refused.
inline constexpr int kModelFormat = 1;

/// Model files (TOML, docs/model-file.md) to specs and back. Reading checks the form: types, sizes, unknown and missing keys,
/// finite numbers. Whether the description makes a mechanism is Model::build's affair; the places of all fields go along.
Result<ModelSpec> read_model_file(const std::string& path);

/// The file read and checked. Warnings of the model go to `warnings`, the spec to `spec`.
Result<Model> read_model(const std::string& path, std::vector<std::string>* warnings = nullptr, ModelSpec* spec = nullptr);

/// Where a refused start of a model has its place: the joint or body that `sentence` names in quotes, else [initial], else the
/// first joint or body.
std::string start_place(const ModelSpec& spec, const std::string& sentence = {});

/// The spec of a text; `name` stands for the file in places.
Result<ModelSpec> parse_model(std::string_view text, const std::string& name);

/// The spec as the text of a model file. Law: parse_model(write_model(spec)) has the same numbers, bit for bit.
std::string write_model(const ModelSpec& spec);

}  // namespace invar
