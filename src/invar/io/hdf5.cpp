// SPDX-License-Identifier: Apache-2.0
#include "invar/io/hdf5.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <utility>

#include "invar/io/hdf5_driver.hpp"

namespace invar {

namespace {

// An HDF5 handle that closes itself; negative handles are failures.
template <herr_t (*close)(hid_t)>
class Handle {
 public:
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& o) noexcept : id_(o.id_) { o.id_ = -1; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close(id_);
  }
  hid_t id() const { return id_; }
  bool ok() const { return id_ >= 0; }
  /// Now, and whether it went well.
  bool close_now() { return close(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
};
using File = Handle<H5Fclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;
using List = Handle<H5Pclose>;
using Set = Handle<H5Dclose>;
using Attribute = Handle<H5Aclose>;

bool attach_text(hid_t object, const char* name, const std::string& text) {
  Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.id(), H5T_VARIABLE);  // of variable length: Python reads it as str, not as bytes
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  Space scalar(H5Screate(H5S_SCALAR));
  Attribute attribute(H5Acreate2(object, name, type.id(), scalar.id(), H5P_DEFAULT, H5P_DEFAULT));
  const char* pointer = text.c_str();
  return attribute.ok() && H5Awrite(attribute.id(), type.id(), &pointer) >= 0;
}

bool attach_number(hid_t object, const char* name, std::uint64_t value) {
  Space scalar(H5Screate(H5S_SCALAR));
  Attribute attribute(H5Acreate2(object, name, H5T_STD_U64LE, scalar.id(), H5P_DEFAULT, H5P_DEFAULT));
  return attribute.ok() && H5Awrite(attribute.id(), H5T_NATIVE_UINT64, &value) >= 0;
}

Set create_set(hid_t file, const Channel& channel, hsize_t rows) {
  const hsize_t extent[2] = {rows, static_cast<hsize_t>(channel.size)};
  Space space(H5Screate_simple(channel.size == 1 ? 1 : 2, extent, nullptr));
  List groups(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(groups.id(), 1);
  List manner(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(manner.id(), false);  // the same run gives the same bytes
  Set set(H5Dcreate2(file, channel.path.c_str(), H5T_IEEE_F64LE, space.id(), groups.id(), manner.id(), H5P_DEFAULT));
  if (set.ok() && (!attach_text(set.id(), "unit", channel.unit) || !attach_text(set.id(), "meaning", channel.meaning)))
    return Set(-1);
  return set;
}

// Rows [first, first + count) of one channel, taken out of a block of whole rows.
bool write_block(const Set& set, int size, hsize_t first, hsize_t count, const double* block, hsize_t width, hsize_t column) {
  const hsize_t start[2] = {first, 0}, extent[2] = {count, static_cast<hsize_t>(size)};
  Space on_file(H5Dget_space(set.id()));
  H5Sselect_hyperslab(on_file.id(), H5S_SELECT_SET, start, nullptr, extent, nullptr);
  const hsize_t whole[2] = {count, width}, corner[2] = {0, column};
  Space in_memory(H5Screate_simple(2, whole, nullptr));
  H5Sselect_hyperslab(in_memory.id(), H5S_SELECT_SET, corner, nullptr, extent, nullptr);
  return H5Dwrite(set.id(), H5T_NATIVE_DOUBLE, in_memory.id(), on_file.id(), H5P_DEFAULT, block) >= 0;
}

// First pass: how many records are intact, and which times they cover.
Written survey(LogReader& log, std::vector<double>& row) {
  Written out;
  log.rewind();
  while (log.next(row)) {
    if (out.samples == 0) out.from = row[0];
    out.to = row[0];
    ++out.samples;
  }
  out.ending = log.ending();
  return out;
}

// Second pass: the numbers, a block of rows at a time, as long as the disk takes them.
bool write_rows(LogReader& log, const std::vector<Set>& sets, std::uint64_t samples, const WholeFile& whole) {
  const auto width = static_cast<std::size_t>(log.layout().width());
  const std::size_t rows_per_block = std::max<std::size_t>(1, (std::size_t{1} << 19) / width);
  std::vector<double> block(rows_per_block * width);
  log.rewind();
  for (std::uint64_t done = 0; done < samples && whole.good();) {
    const std::size_t count = std::min<std::uint64_t>(rows_per_block, samples - done);
    for (std::size_t i = 0; i < count; ++i)
      if (!log.next(std::span(block).subspan(i * width, width))) return false;
    hsize_t column = 0;
    for (std::size_t c = 0; c < sets.size(); ++c) {
      const int size = log.layout().channels[c].size;
      if (!write_block(sets[c], size, done, count, block.data(), width, column)) return false;
      column += static_cast<hsize_t>(size);
    }
    done += count;
  }
  return true;
}

// All of it through a driver to which nothing fails; what the disk said is known to `whole`.
bool write_all(LogReader& log, const Written& found, WholeFile& whole) {
  List access(access_through(whole));
  if (!access.ok()) return false;
  File file(H5Fcreate("run.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()));
  if (!file.ok()) return false;
  const Layout& layout = log.layout();
  bool good = attach_number(file.id(), "format", 1) && attach_text(file.id(), "model", layout.model) &&
              attach_text(file.id(), "scenario", layout.scenario) && attach_number(file.id(), "seed", layout.seed) &&
              attach_number(file.id(), "complete", found.ending == LogReader::Ending::Complete ? 1 : 0);
  {
    std::vector<Set> sets;
    for (const Channel& c : layout.channels) {
      sets.push_back(create_set(file.id(), c, found.samples));
      if (!sets.back().ok()) return false;
    }
    good = good && write_rows(log, sets, found.samples, whole) && H5Fflush(file.id(), H5F_SCOPE_GLOBAL) >= 0;
  }
  return file.close_now() && good;
}

// However writing ends: what HDF5 could not close has nothing more to write into.
struct Leaving {
  const WholeFile& file;
  ~Leaving() { leave(file); }
};

}  // namespace

Result<Written> write_hdf5(LogReader& log, const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // failures are reported once, by us
  auto whole = WholeFile::create(path);
  if (!whole) return tl::unexpected(whole.error());
  std::vector<double> row(static_cast<std::size_t>(log.layout().width()));
  const Written found = survey(log, row);
  const Leaving leaving{*whole};
  if (!write_all(log, found, *whole) && whole->good())
    return fail(ErrorKind::File, "HDF5 does not take the recording, or the log changed while it was read", path);
  if (auto finished = whole->finish(); !finished) return tl::unexpected(finished.error());
  return found;
}

}  // namespace invar
