// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "invar/base/error.hpp"
#include "invar/report/decimation.hpp"

namespace invar {

/// How much of a recording a page holds.
struct PageOptions {
  DecimationOptions decimation = {};
  /// About how many numbers a run may have: of mechanisms with many bodies fewer samples are kept, down to a quarter.
  std::size_t numbers = 280000;
  std::string title = {};                     ///< empty: that of the first run
  std::vector<std::string>* notes = nullptr;  ///< what is missing on the page, in sentences
};

/// The viewer's page without data; empty where the library was built without it.
std::string_view viewer_page();

/// data.json of the runs in these directories (docs/page-data.md). Fails where one holds no log or a log that is not one; a log
/// that was cut or damaged is shown up to there, and said so. A missing or damaged result.json is null.
Result<std::string> page_data(const std::vector<std::string>& directories, const PageOptions& options = {});

/// Whether pages show a channel: what they plot and draw; rates of bodies and joints are left to the recording.
bool is_shown(const Channel& channel);

/// The first text of a live run: data.json of a recording without numbers, with the channels that are shown.
std::string live_begin(const Layout& layout);
/// The last one: what result.json in this directory holds, or null.
std::string live_end(const std::string& directory, bool complete);

/// The page with its data inside: one file that needs no network.
std::string page_with(std::string_view page, const std::string& data);

/// report.html of one run, or of several side by side. Fails where the library has no viewer.
Result<void> write_report(const std::vector<std::string>& directories, const std::string& path, const PageOptions& options = {});

}  // namespace invar
