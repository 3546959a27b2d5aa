// SPDX-License-Identifier: Apache-2.0
#include "invar/io/recorded_columns.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "invar/io/log.hpp"
#include "invar/io/regular_file.hpp"

namespace invar {
namespace {

constexpr std::size_t kMostNumbers = std::size_t{1} << 27;  // 1 GiB

tl::unexpected<Error> too_large(const std::string& path) {
  return fail(ErrorKind::File, "has more than a gibibyte of numbers; record less, or fewer channels", path);
}

struct Visit {
  RecordedColumns* out;
  std::size_t numbers = 0;
  bool fine = true, large = false;
};

void read_set(hid_t set, const char* name, Visit& visit) {
  const hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  hsize_t extent[2] = {0, 1};
  const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
  if ((rank == 1 || rank == 2) && type >= 0 && H5Tget_class(type) == H5T_FLOAT) {
    H5Sget_simple_extent_dims(space, extent, nullptr);
    const bool small = extent[1] > 0 && extent[1] < 4096 && extent[0] < kMostNumbers / extent[1];
    visit.numbers += small ? static_cast<std::size_t>(extent[0] * extent[1]) : kMostNumbers;
    visit.large = visit.numbers >= kMostNumbers;
    if (!visit.large) {
      RecordedColumns::Column column{static_cast<int>(extent[1]), std::vector<double>(extent[0] * extent[1])};
      visit.fine = H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, column.values.data()) >= 0;
      visit.out->channels[name] = std::move(column);
    }
  }
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
}

// One dataset: samples × size, or samples alone. Others are passed over.
herr_t take(hid_t group, const char* name, const H5L_info_t* link, void* pointer) {
  auto& visit = *static_cast<Visit*>(pointer);
  if (link->type != H5L_TYPE_HARD) return 0;
  const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) return visit.fine = false, 1;
  if (H5Iget_type(object) == H5I_DATASET) read_set(object, name, visit);
  H5Oclose(object);
  return visit.large || !visit.fine ? 1 : 0;
}

}  // namespace

Result<RecordedColumns> columns_of_log(const std::string& path) {
  auto log = LogReader::open(path);
  if (!log) return tl::unexpected(log.error());
  RecordedColumns out;
  out.scene = log->layout().scene;
  const std::vector<Channel> channels = log->layout().channels;
  for (const Channel& c : channels) out.channels[c.path].size = c.size;
  std::vector<double> row(static_cast<std::size_t>(log->layout().width()));
  while (log->next(row)) {
    if (++out.samples * row.size() > kMostNumbers) return too_large(path);
    const double* at = row.data();
    for (const Channel& c : channels) {
      auto& values = out.channels[c.path].values;
      values.insert(values.end(), at, at + c.size);
      at += c.size;
    }
  }
  if (log->ending() == LogReader::Ending::Damaged)
    return fail(ErrorKind::File, fmt::format("is damaged after {} samples; run it again", out.samples), path);
  out.cut = log->ending() == LogReader::Ending::Cut;
  return out;
}

Result<RecordedColumns> columns_of_hdf5(const std::string& path) {
  if (auto there = open_regular(path); !there) return tl::unexpected(there.error());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // failures are reported once, by us
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0)
    return fail(ErrorKind::File, "is not an HDF5 file, or was cut off; `invar report` writes it anew from the log", path);
  RecordedColumns out;
  Visit visit{&out};
  const herr_t walked = H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, take, &visit);
  H5Fclose(file);
  if (visit.large) return too_large(path);
  if (walked < 0 || !visit.fine) return fail(ErrorKind::File, "cannot be read; `invar report` writes it anew from the log", path);
  const auto time = out.channels.find("time");
  if (time == out.channels.end()) return fail(ErrorKind::File, "has no dataset 'time': it is not a recording", path);
  out.samples = time->second.values.size();
  return out;
}

std::map<std::string, std::vector<RecordedCentre>> recorded_centres(const RecordedColumns& columns, const std::string& path) {
  std::string text = columns.scene;
  if (text.empty())
    if (const auto log = LogReader::open((std::filesystem::path(path).parent_path() / "run.log").string()))
      text = log->layout().scene;
  const auto scene = nlohmann::json::parse(text, nullptr, false);
  std::map<std::string, std::vector<RecordedCentre>> out;
  try {
    const auto at = [](const nlohmann::json& item) {
      const auto& c = item.at("com");
      return Vec3(c.at(0).get<double>(), c.at(1).get<double>(), c.at(2).get<double>());
    };
    for (const auto& body : scene.is_object() ? scene.value("bodies", nlohmann::json::array()) : nlohmann::json::array()) {
      auto& centres = out[body.at("name").get<std::string>()];
      centres.push_back({-std::numeric_limits<double>::infinity(), at(body)});
      for (const auto& later : body.value("weighed", nlohmann::json::array()))
        centres.push_back({later.at("from").get<double>(), at(later)});
    }
  } catch (const nlohmann::json::exception&) {  // a scene of somebody else
    out.clear();
  }
  return out;
}

}  // namespace invar
