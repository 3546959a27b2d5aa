// SPDX-License-Identifier: Apache-2.0
#include "invar/io/hdf5_driver.hpp"

#include <hdf5.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <vector>
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

  // What was written there counts no more: its place was given to raw numbers.
  void forget(haddr_t at, std::size_t size) {
    for (auto it = pages_.lower_bound(at / kPage); it != pages_.end() && it->first * kPage < at + size; ++it) {
      const haddr_t base = it->first * kPage, last = std::min<haddr_t>(at + size, base + kPage);
      for (haddr_t here = std::max(at, base); here < last; ++here) it->second.written.reset(here - base);
    }
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

  // All that lies before `limit`: HDF5 may have given back what lies behind it.
  void put_into(WholeFile& file, haddr_t limit) const {
    for (const auto& [number, page] : pages_) {
      const std::size_t size = std::min<haddr_t>(kPage, std::max(limit, number * kPage) - number * kPage);
      for (std::size_t i = 0; i < size;) {
        std::size_t end = i;
        while (end < size && page.written[end]) ++end;
        file.write_at(number * kPage + i, page.bytes + i, end - i);
        i = std::max(end, i + 1);
      }
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

// HDF5 puts its own part first. A file that HDF5 could not close stays open until the program ends, longer than what it went
// into: then `file` is null, and what is written goes nowhere.
struct DrivenFile {
  H5FD_t of_hdf5{};
  WholeFile* file = nullptr;
  Memory memory;
  haddr_t allocated = 0, end = 0;  // what HDF5 has given away, and the last byte that was written
};

DrivenFile& driven(H5FD_t* file) { return *reinterpret_cast<DrivenFile*>(file); }
const DrivenFile& driven(const H5FD_t* file) { return *reinterpret_cast<const DrivenFile*>(file); }

// All that is open. HDF5 is not used by two threads at once.
std::vector<DrivenFile*>& open_files() {
  static auto* const all = new std::vector<DrivenFile*>;  // HDF5's exit handler comes after destructors
  return *all;
}

// Work that may find no memory: no exception passes through HDF5, and the file is not finished.
template <class Work>
void within(DrivenFile& d, Work work) {
  if (d.file == nullptr) return;
  try {
    work(*d.file);
  } catch (const std::bad_alloc&) {
    d.file->spoil(ENOMEM);
  }
}

H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
  auto* const* file = static_cast<WholeFile* const*>(H5Pget_driver_info(access));
  if (file == nullptr) return nullptr;
  try {
    auto out = std::make_unique<DrivenFile>();
    out->file = *file;
    open_files().push_back(out.get());
    return &out.release()->of_hdf5;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

herr_t close(H5FD_t* f) {
  DrivenFile& d = driven(f);
  within(d, [&](WholeFile& file) { d.memory.put_into(file, d.allocated); });
  std::erase(open_files(), &d);
  delete &d;
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
  DrivenFile& d = driven(f);
  if (type == H5FD_MEM_DRAW && d.file != nullptr)
    d.file->read_at(at, bytes, size);
  else
    std::memset(bytes, 0, size);
  d.memory.read(at, size, bytes);
  return 0;
}

herr_t write(H5FD_t* f, H5FD_mem_t type, hid_t, haddr_t at, std::size_t size, const void* bytes) {
  DrivenFile& d = driven(f);
  within(d, [&](WholeFile& file) {
    if (type == H5FD_MEM_DRAW) {
      d.memory.forget(at, size);
      file.write_at(at, bytes, size);
    } else {
      d.memory.write(at, size, bytes);
    }
  });
  d.end = std::max(d.end, at + size);
  return 0;
}

herr_t truncate(H5FD_t* f, hid_t, hbool_t) {
  DrivenFile& d = driven(f);
  if (d.end != d.allocated && d.file != nullptr) d.file->resize(d.allocated);
  d.end = d.allocated;
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

void leave(const WholeFile& file) {
  for (DrivenFile* d : open_files())
    if (d->file == &file) d->file = nullptr;
}

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
