// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/io/text_file.hpp"

namespace invar {

/// A table of comma-separated values: a header line with the names of columns, then one row per line. Blank lines and lines that
/// begin with '#' do not count; names may stand in double quotes; spaces around fields are ignored. Every row has as many fields
/// as the header. Fields are numbers where a column is asked for, anything elsewhere.
class CsvTable {
 public:
  /// `name` stands for the file in places ("arm.csv:12").
  static Result<CsvTable> parse(const std::string& text, const std::string& name);
  static Result<CsvTable> read(const std::string& path, std::size_t max_bytes = kLargestText);

  const std::vector<std::string>& names() const { return names_; }
  std::size_t rows() const { return lines_.size(); }

  /// The numbers of a column. Refused with its line: an unknown name, what is no number, NaN and infinities.
  Result<std::vector<double>> column(const std::string& name) const;
  /// "file:line" of a row.
  std::string where(std::size_t row) const;
  std::string where_header() const;

 private:
  std::string file_;
  std::size_t header_ = 0;  // its line
  std::vector<std::string> names_;
  std::vector<std::string> fields_;  // row by row
  std::vector<std::size_t> lines_;   // per row
};

}  // namespace invar
