// SPDX-License-Identifier: Apache-2.0
#include "invar/io/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "invar/model/model.hpp"

namespace invar {
namespace {

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  return first == s.npos ? std::string_view{} : s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out;
  for (;;) {
    const auto comma = line.find(',');
    out.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == line.npos) return out;
    line.remove_prefix(comma + 1);
  }
}

std::string unquoted(const std::string& field) {
  const bool quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return quoted ? std::string(trimmed(std::string_view(field).substr(1, field.size() - 2))) : field;
}

// At most so many letters of somebody's file in a message.
std::string shown(const std::string& field, std::size_t most = 40) {
  return field.size() <= most ? field : field.substr(0, most) + "...";
}

// What is wrong with a field as a number, or null.
const char* parse_number(const std::string& field, double& x) {
  const char *begin = field.data(), *end = begin + field.size();
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') ++begin;
  const auto read = std::from_chars(begin, end, x);
  if (read.ptr != end || read.ec == std::errc::invalid_argument) return "not a number";
  if (read.ec == std::errc::result_out_of_range) return "too large or too small for a number";
  return std::isfinite(x) ? nullptr : "not finite";
}

// What is wrong with the names of columns, or nothing.
std::string flaw_of(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) return "a column has no name";
    if (!seen.insert(name).second) return fmt::format("two columns are called '{}'", shown(name));
  }
  // A file of bare numbers would lose its first row.
  const bool all_numbers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    double x = 0;
    return parse_number(name, x) == nullptr;
  });
  return all_numbers ? "the first line has numbers, not the names of columns" : "";
}

}  // namespace

Result<CsvTable> CsvTable::parse(const std::string& text, const std::string& name) {
  CsvTable out;
  out.file_ = name;
  std::string_view rest = text;
  if (rest.substr(0, 3) == "\xef\xbb\xbf") rest.remove_prefix(3);
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const auto end = rest.find('\n');
    const std::string_view here = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (here.empty() || here.front() == '#') continue;
    std::vector<std::string> fields = fields_of(here);
    const std::string place = fmt::format("{}:{}", name, line);
    if (out.header_ == 0) {
      out.header_ = line;
      for (const std::string& field : fields) out.names_.push_back(unquoted(field));
      if (const std::string why = flaw_of(out.names_); !why.empty()) return fail(ErrorKind::Syntax, why, place);
      continue;
    }
    if (fields.size() != out.names_.size())
      return fail(ErrorKind::Syntax, fmt::format("{} fields, but the header has {} columns", fields.size(), out.names_.size()),
                  place);
    std::move(fields.begin(), fields.end(), std::back_inserter(out.fields_));
    out.lines_.push_back(line);
  }
  if (out.header_ == 0) return fail(ErrorKind::Syntax, "is empty; a header line with the names of columns is wanted", name);
  return out;
}

Result<CsvTable> CsvTable::read(const std::string& path, std::size_t max_bytes) {
  auto text = read_text_file(path, max_bytes);
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path);
}

std::string CsvTable::where(std::size_t row) const { return fmt::format("{}:{}", file_, lines_[row]); }

std::string CsvTable::where_header() const { return fmt::format("{}:{}", file_, header_); }

Result<std::vector<double>> CsvTable::column(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    std::string hint = did_you_mean(name, names_), all;
    for (const std::string& other : names_) all += (all.empty() ? "" : ", ") + shown(other);
    if (hint.empty()) hint = "; columns are " + shown(all, 200);
    return fail(ErrorKind::Syntax, fmt::format("there is no column '{}'{}", shown(name), hint), where_header());
  }
  const auto c = static_cast<std::size_t>(found - names_.begin());
  std::vector<double> out(rows());
  for (std::size_t row = 0; row < rows(); ++row) {
    const std::string& field = fields_[row * names_.size() + c];
    if (const char* why = parse_number(field, out[row]))
      return fail(ErrorKind::Syntax, fmt::format("'{}' in column '{}' is {}", shown(field), shown(name), why), where(row));
  }
  return out;
}

}  // namespace invar
