// SPDX-License-Identifier: Apache-2.0
#include "invar/report/page.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "invar/io/output.hpp"
#include "invar/io/result_json.hpp"
#include "invar/io/text_file.hpp"
#include "invar/report/figures.hpp"
#include "invar/report/json_text.hpp"
#include "invar/report/packed.hpp"

namespace invar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = R"(<script id="invar-data" type="application/json"></script>)";

// Times are written once for all channels that share them.
class Times {
 public:
  explicit Times(Json& out) : out_(out) {}
  std::size_t index(const std::vector<double>& t) {
    const auto [it, fresh] = known_.emplace(t, known_.size());
    if (fresh) out_.push_back(packed_json(t));
    return it->second;
  }

 private:
  Json& out_;
  std::map<std::vector<double>, std::size_t> known_;
};

// Null where there is none, or one that cannot be read, which is said.
Json result_of(const Output& output, Json* trouble = nullptr) {
  std::error_code ignored;
  if (!std::filesystem::exists(output.result(), ignored)) return nullptr;
  const auto text = read_text_file(output.result());
  Json out = text ? object_of(*text) : Json(nullptr);
  if (out.is_null() && trouble != nullptr)
    trouble->push_back("result.json is damaged: laws, metrics and certificates are missing here");
  return out;
}

Json channel_json(const Channel& c) { return {{"path", c.path}, {"unit", c.unit}, {"meaning", c.meaning}, {"size", c.size}}; }

// Names may be any bytes; what is not UTF-8 is replaced.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Fewer samples where there are many channels, so that a page stays small.
void fit(DecimationOptions& options, const Layout& layout, std::size_t most) {
  double numbers = 0;
  for (const Channel& c : layout.channels)
    if (options.wanted(c)) numbers += c.size * (goes_with_poses(c) ? options.poses : options.extremes);
  for (const Derived& d : options.derived) numbers += d.channel.size * options.extremes;
  const double part = std::clamp(static_cast<double>(most) / numbers, 0.25, 1.0);
  options.poses = std::max(2, static_cast<int>(part * options.poses));
  options.extremes = std::max(2, static_cast<int>(part * options.extremes));
}

Result<Json> run_json(const std::string& directory, const PageOptions& options) {
  const Output output{directory};
  auto log = LogReader::open(output.log());
  if (!log) return tl::unexpected(log.error());
  DecimationOptions wanted = options.decimation;
  if (!wanted.wanted) wanted.wanted = is_shown;
  const Figures figures(*log);
  wanted.derived = figures.curves();
  fit(wanted, log->layout(), options.numbers);
  const Decimated data = decimate(*log, wanted);
  Json run;
  run["name"] = data.layout.scenario;
  Json trouble = Json::array();
  run["result"] = result_of(output, &trouble);
  if (data.samples == 0) trouble.push_back("nothing was recorded: the log holds no samples");
  if (options.notes != nullptr)
    for (const Json& sentence : trouble) options.notes->push_back(directory + ": " + sentence.get<std::string>());
  run["trouble"] = std::move(trouble);
  run["complete"] = data.ending == LogReader::Ending::Complete;
  run["scene"] = object_of(data.layout.scene);
  run["samples"] = data.samples;
  run["times"] = Json::array();
  run["channels"] = Json::array();
  Times times(run["times"]);
  // Poses first: theirs is the first time.
  for (const bool poses : {true, false})
    for (std::size_t c = 0; c < data.channels.size() - wanted.derived.size(); ++c) {
      const Channel& channel = data.layout.channels[c + 1];
      if (goes_with_poses(channel) != poses || !wanted.wanted(channel)) continue;
      Json& out = run["channels"].emplace_back(channel_json(channel));
      out["time"] = times.index(data.channels[c].t);
      out["y"] = packed_json(data.channels[c].y);
    }
  run["figures"] = figures.json(data, run["result"], directory);
  return run;
}

}  // namespace

Result<std::string> page_data(const std::vector<std::string>& directories, const PageOptions& options) {
  Json out = {{"format", 1}, {"title", options.title}, {"live", false}, {"runs", Json::array()}};
  for (const std::string& directory : directories) {
    auto run = run_json(directory, options);
    if (!run) return tl::unexpected(run.error());
    out["runs"].push_back(std::move(*run));
  }
  if (options.title.empty() && !directories.empty()) out["title"] = out["runs"][0]["name"];
  return text_of(out);
}

bool is_shown(const Channel& c) {
  if (c.path.rfind("bodies/", 0) == 0) return is_pose(c) || c.path.ends_with("/force") || c.path.ends_with("/moment");
  return !(c.path.rfind("joints/", 0) == 0 && c.path.ends_with("/v")) &&
         !(c.path.rfind("tendons/", 0) == 0 && c.path.ends_with("/rate"));
}

std::string live_begin(const Layout& layout) {
  Json channels = Json::array();
  for (std::size_t c = 1; c < layout.channels.size(); ++c)
    if (is_shown(layout.channels[c])) channels.push_back(channel_json(layout.channels[c]));
  const Json run = {{"name", layout.scenario},          {"result", nullptr},      {"complete", false},
                    {"scene", object_of(layout.scene)}, {"times", Json::array()}, {"channels", channels}};
  return text_of({{"format", 1}, {"title", layout.scenario}, {"live", true}, {"runs", Json::array({run})}});
}

std::string live_end(const std::string& directory, bool complete) {
  const Json result = result_of(Output{directory});
  Json out = {{"result", result}, {"complete", complete}};
  if (auto log = LogReader::open(Output{directory}.log())) {
    const Figures figures(*log);
    DecimationOptions only;
    only.wanted = [](const Channel&) { return false; };
    only.derived = figures.curves();
    if (!figures.empty()) out["figures"] = figures.json(decimate(*log, only), result, directory);
  }
  return text_of(out);
}

std::string page_with(std::string_view page, const std::string& data) {
  const std::size_t at = page.find(kMark);
  if (at == std::string_view::npos) return std::string(page);
  const std::size_t inside = at + kMark.rfind("</");
  std::string out(page.substr(0, inside));
  out.reserve(page.size() + data.size() + 64);
  // No text of a file may end the element.
  for (std::size_t i = 0; i < data.size(); ++i) {
    out += data[i];
    if (data[i] == '<' && i + 1 < data.size() && (data[i + 1] == '/' || data[i + 1] == '!'))
      out.replace(out.size() - 1, 1, "\\u003c");
  }
  return out.append(page.substr(inside));
}

Result<void> write_report(const std::vector<std::string>& directories, const std::string& path, const PageOptions& options) {
  if (viewer_page().empty())
    return fail(ErrorKind::File, "this program was built without the viewer; see docs/dependencies.md", path);
  auto data = page_data(directories, options);
  if (!data) return tl::unexpected(data.error());
  return write_text(path, page_with(viewer_page(), *data));
}

}  // namespace invar
