// SPDX-License-Identifier: Apache-2.0
#include "invar/io/hdf5_driver.hpp"

#include <hdf5.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <map>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace invar {
namespace {

constexpr std::size_t kPage = 4096;

// Bytes by their address, in pages; which of them were written is remembered one by one, for raw numbers may lie in between.
class Memory {
 public:
  void write(haddr_t at, std::size_t size, const void* bytes) {
    over(at, size, [from = static_cast<const char*>(bytes)](Page& page, std::size_t first, std::size_t count) mutable {
      std::memcpy(page.bytes + first, from, count);
      for (std::size_t i = 0; i < count; ++i) page.written.set(first + i);
      from += count;
    });
  }

  // Over what `bytes` hold already: only what was written here.
  void read(haddr_t at, std::size_t size, void* bytes) const {
    char* to = static_cast<char*>(bytes);
    for (auto it = pages_.lower_bound(at / kPage); it != pages_.end() && it->first * kPage < at + size; ++it) {
      const haddr_t base = it->first * kPage, last = std::min<haddr_t>(at + size, base + kPage);
      for (haddr_t here = std::max(at, base); here < last; ++here)
        if (it->second.written[here - base]) to[here - at] = it->second.bytes[here - base];
    }
  }

  void put_into(WholeFile& file) const {
    for (const auto& [number, page] : pages_)
      for (std::size_t i = 0; i < kPage;) {
        std::size_t end = i;
        while (end < kPage && page.written[end]) ++end;
        file.write_at(number * kPage + i, page.bytes + i, end - i);
        i = std::max(end, i + 1);
      }
  }

 private:
  struct Page {
    char bytes[kPage] = {};
    std::bitset<kPage> written;
  };

  template <class Visit>
  void over(haddr_t at, std::size_t size, Visit visit) {
    while (size > 0) {
      const std::size_t first = at % kPage, count = std::min(size, kPage - first);
      visit(pages_[at / kPage], first, count);
      at += count, size -= count;
    }
  }

  std::map<haddr_t, Page> pages_;
};

// HDF5 puts its own part first.
struct Driven {
  H5FD_t of_hdf5{};
  WholeFile* file = nullptr;
  Memory memory;
  haddr_t allocated = 0, end = 0;  // what HDF5 has given away, and the last byte that was written
};

Driven& driven(H5FD_t* file) { return *reinterpret_cast<Driven*>(file); }
const Driven& driven(const H5FD_t* file) { return *reinterpret_cast<const Driven*>(file); }

H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
  auto* const* file = static_cast<WholeFile* const*>(H5Pget_driver_info(access));
  if (file == nullptr) return nullptr;
  auto* out = new Driven;
  out->file = *file;
  return &out->of_hdf5;
}

herr_t close(H5FD_t* f) {
  driven(f).memory.put_into(*driven(f).file);
  delete &driven(f);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t allocated(const H5FD_t* f, H5FD_mem_t) { return driven(f).allocated; }
haddr_t end(const H5FD_t* f, H5FD_mem_t) { return driven(f).end; }

herr_t allocate(H5FD_t* f, H5FD_mem_t, haddr_t address) {
  driven(f).allocated = address;
  return 0;
}

herr_t read(H5FD_t* f, H5FD_mem_t type, hid_t, haddr_t at, std::size_t size, void* bytes) {
  if (type == H5FD_MEM_DRAW)
    driven(f).file->read_at(at, bytes, size);
  else
    std::memset(bytes, 0, size);
  driven(f).memory.read(at, size, bytes);
  return 0;
}

herr_t write(H5FD_t* f, H5FD_mem_t type, hid_t, haddr_t at, std::size_t size, const void* bytes) {
  if (type == H5FD_MEM_DRAW)
    driven(f).file->write_at(at, bytes, size);
  else
    driven(f).memory.write(at, size, bytes);
  driven(f).end = std::max(driven(f).end, at + size);
  return 0;
}

herr_t truncate(H5FD_t* f, hid_t, hbool_t) {
  if (driven(f).end != driven(f).allocated) driven(f).file->resize(driven(f).allocated);
  driven(f).end = driven(f).allocated;
  return 0;
}

H5FD_class_t description() {
  H5FD_class_t out{};
#if H5_VERSION_GE(1, 13, 0)
  out.version = H5FD_CLASS_VERSION;
  out.value = static_cast<H5FD_class_value_t>(512);
#endif
  out.name = "invar";
  out.maxaddr = HADDR_MAX / 2;
  out.fc_degree = H5F_CLOSE_STRONG;
  out.fapl_size = sizeof(WholeFile*);
  out.open = open, out.close = close, out.query = query;
  out.get_eoa = allocated, out.set_eoa = allocate, out.get_eof = end;
  out.read = read, out.write = write, out.truncate = truncate;
  const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), out.fl_map);
  return out;
}

}  // namespace

std::int64_t access_through(WholeFile& file) {
  static_assert(sizeof(hid_t) == sizeof(std::int64_t));
  static const H5FD_class_t ours = description();
  static const hid_t driver = H5FDregister(&ours);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  WholeFile* info = &file;
  if (access < 0 || driver < 0 || H5Pset_driver(access, driver, &info) < 0) return -1;
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  return access;
}

}  // namespace invar
