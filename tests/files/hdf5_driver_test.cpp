// SPDX-License-Identifier: Apache-2.0
// What HDF5 is told to be in a file is there when it closes it: the last that was written to a place, whatever kind it was.
#include "invar/io/hdf5_driver.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "support/folder.hpp"

namespace invar::testing {
namespace {

class Driver : public ::testing::Test {
 protected:
  Driver() : whole_(WholeFile::create(folder_ / "f")), access_(access_through(*whole_)) {
    file_ = H5FDopen("f", H5F_ACC_RDWR | H5F_ACC_CREAT, access_, HADDR_UNDEF);
  }
  ~Driver() override { H5Pclose(access_); }

  void allocate(haddr_t end) { ASSERT_GE(H5FDset_eoa(file_, H5FD_MEM_DEFAULT, end), 0); }
  void write(H5FD_mem_t type, haddr_t at, const std::string& text) {
    ASSERT_GE(H5FDwrite(file_, type, H5P_DEFAULT, at, text.size(), text.data()), 0);
  }
  std::string read(H5FD_mem_t type, haddr_t at, std::size_t size) {
    std::string out(size, '?');
    EXPECT_GE(H5FDread(file_, type, H5P_DEFAULT, at, size, out.data()), 0);
    return out;
  }
  std::string closed() {
    EXPECT_GE(H5FDclose(file_), 0);
    EXPECT_TRUE(whole_->finish());
    return read_file(folder_ / "f");
  }

  Folder folder_;
  Result<WholeFile> whole_;
  hid_t access_;
  H5FD_t* file_ = nullptr;
};

TEST_F(Driver, HasTheLastThatWasWrittenToAPlace) {
  ASSERT_NE(file_, nullptr);
  allocate(10000);
  write(H5FD_MEM_OHDR, 4000, std::string(200, 'm'));
  write(H5FD_MEM_DRAW, 4050, std::string(100, 'r'));  // the place of metadata is given to numbers
  write(H5FD_MEM_LHEAP, 4140, "heap");                // and some of it back
  const std::string expected = std::string(50, 'm') + std::string(90, 'r') + "heap" + std::string(6, 'r') + std::string(50, 'm');
  EXPECT_EQ(read(H5FD_MEM_DRAW, 4000, 200), expected);
  EXPECT_EQ(closed().substr(4000, 200), expected);
}

TEST_F(Driver, WritesNothingBehindTheEnd) {
  ASSERT_NE(file_, nullptr);
  allocate(10000);
  write(H5FD_MEM_DRAW, 0, std::string(100, 'r'));
  write(H5FD_MEM_OHDR, 9000, std::string(1000, 'm'));
  allocate(100);
  ASSERT_GE(H5FDtruncate(file_, H5P_DEFAULT, false), 0);
  EXPECT_EQ(closed(), std::string(100, 'r'));
}

// HDF5 closes what it could not close in its exit handler: then there is nothing to write into.
TEST_F(Driver, OutlivesTheFileThatItWroteInto) {
  ASSERT_NE(file_, nullptr);
  allocate(1000);
  write(H5FD_MEM_OHDR, 0, "before");
  leave(*whole_);
  write(H5FD_MEM_OHDR, 0, "after ");
  write(H5FD_MEM_DRAW, 100, "after ");
  EXPECT_EQ(closed(), "");
}

}  // namespace
}  // namespace invar::testing
