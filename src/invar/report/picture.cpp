// SPDX-License-Identifier: Apache-2.0
#include "invar/report/picture.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "invar/io/output.hpp"
#include "invar/model/model.hpp"
#include "invar/report/axes.hpp"
#include "invar/report/decimation.hpp"
#include "invar/report/drawing.hpp"
#include "invar/run/sink.hpp"

namespace invar {
namespace {

// Colours that people with any colour vision tell apart (Okabe and Ito).
constexpr Colour kBodies[] = {{0.00f, 0.45f, 0.70f}, {0.90f, 0.62f, 0.00f}, {0.00f, 0.62f, 0.45f}, {0.80f, 0.47f, 0.65f},
                              {0.34f, 0.71f, 0.91f}, {0.84f, 0.37f, 0.00f}, {0.94f, 0.89f, 0.26f}};
constexpr Colour kPaper{1, 1, 1}, kObstacle{0.6f, 0.6f, 0.6f}, kTendon{0.2f, 0.2f, 0.2f};

Colour mixed(Colour a, Colour b, float part) {
  return {a.r + part * (b.r - a.r), a.g + part * (b.g - a.g), a.b + part * (b.b - a.b)};
}

/// Poses of the bodies of a drawing over time.
struct Motion {
  std::vector<double> t;
  std::vector<std::vector<Pose>> X;  ///< per time and body, of the body frame
  std::vector<std::vector<Vec3>> p;  ///< centres of mass
};

Motion motion_of(const Decimated& data, const Drawing& drawing) {
  Motion out;
  for (std::size_t b = 0; b < drawing.bodies.size(); ++b) {
    const Series *p = nullptr, *q = nullptr;
    const std::string at = "bodies/" + escaped(drawing.bodies[b].name) + "/";
    for (std::size_t c = 0; c < data.channels.size(); ++c) {
      const Channel& channel = data.layout.channels[c + 1];
      if (channel.path == at + "p" && channel.size == 3) p = &data.channels[c];
      if (channel.path == at + "q" && channel.size == 4) q = &data.channels[c];
    }
    if (p == nullptr || q == nullptr) return {};
    out.t = p->t;
    out.X.resize(out.t.size()), out.p.resize(out.t.size());
    for (std::size_t i = 0; i < out.t.size(); ++i) {
      const Vec3 com(p->y[3 * i], p->y[3 * i + 1], p->y[3 * i + 2]);
      const Quat turn(q->y[4 * i], q->y[4 * i + 1], q->y[4 * i + 2], q->y[4 * i + 3]);
      out.p[i].push_back(com);
      out.X[i].push_back({turn, com - turn * drawing.bodies[b].com_at(out.t[i])});
    }
  }
  return out;
}

// Across the plane in which centres of mass spread most; where they spread in space, from the side and above.
Vec3 look_from(const Motion& motion) {
  Vec3 mean = Vec3::Zero();
  double n = 0;
  for (const auto& bodies : motion.p)
    for (const Vec3& p : bodies) mean += p, n += 1;
  mean /= n;
  Mat3 spread = Mat3::Zero();
  for (const auto& bodies : motion.p)
    for (const Vec3& p : bodies) spread += (p - mean) * (p - mean).transpose();
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(spread);
  const Vec3 across = eigen.eigenvectors().col(0);
  if (eigen.eigenvalues()[0] < 1e-4 * eigen.eigenvalues()[2] && eigen.eigenvalues()[1] > 1e-4 * eigen.eigenvalues()[2])
    return across.y() > 1e-3 || (std::abs(across.y()) < 1e-3 && across.z() < 0) ? Vec3(-across) : across;
  return Vec3(1, -2, 1.2).normalized();
}

Camera fitted(const Vec3& from, const std::vector<Vec3>& points, const Canvas& canvas, double part) {
  Camera out;
  const Vec3 up = std::abs(from.z()) > 0.95 * from.norm() ? Vec3::UnitY() : Vec3::UnitZ();
  const Vec3 into = -from.normalized(), right = into.cross(up).normalized();
  out.axes << right.transpose(), into.cross(right).transpose(), into.transpose();
  Vec3 low = Vec3::Constant(1e300), high = -low;
  for (const Vec3& p : points) low = low.cwiseMin(out.axes * p), high = high.cwiseMax(out.axes * p);
  const Vec3 size = (high - low).cwiseMax(1e-9);
  out.scale = part * std::min(canvas.width() / size.x(), canvas.height() / size.y());
  out.offset = -out.scale * 0.5 * (low + high) + Vec3(0.5 * canvas.width(), 0.5 * canvas.height(), 0);
  return out;
}

// Lit from above and from the eye.
void draw(Canvas& canvas, const Camera& camera, const std::vector<Vec3>& corners, const Pose& X, Colour colour) {
  const Vec3 light = (-camera.axes.row(2).transpose() - 0.6 * camera.axes.row(0).transpose() + Vec3(0, 0, 0.8)).normalized();
  for (std::size_t i = 0; i + 2 < corners.size(); i += 3) {
    const Vec3 a = X * corners[i], b = X * corners[i + 1], c = X * corners[i + 2];
    const Vec3 n = (b - a).cross(c - a);
    if (!(n.norm() > 0)) continue;
    const auto lit = static_cast<float>(0.55 + 0.45 * std::max(0.0, n.normalized().dot(light)));
    canvas.triangle(camera(a), camera(b), camera(c), {lit * colour.r, lit * colour.g, lit * colour.b});
  }
}

std::size_t nearest(const std::vector<double>& t, double at) {
  const auto it = std::min_element(t.begin(), t.end(), [at](double a, double b) { return std::abs(a - at) < std::abs(b - at); });
  return static_cast<std::size_t>(it - t.begin());
}

/// What of a motion a picture shows.
struct Chosen {
  std::vector<std::size_t> times;   ///< of the motion
  std::vector<std::size_t> traced;  ///< bodies
};

Result<Chosen> chosen(const PictureOptions& options, const Motion& motion, const Drawing& drawing) {
  Chosen out;
  const double begin = motion.t.front(), end = motion.t.back(), play = 1e-9 * (end - begin);
  for (const double t : options.times) {
    if (!(t >= begin - play && t <= end + play))
      return fail(ErrorKind::File, fmt::format("the recording goes from {:g} s to {:g} s; {:g} s is not in it", begin, end, t));
    out.times.push_back(nearest(motion.t, t));
  }
  for (int k = 0; k < options.strip; ++k)
    out.times.push_back(nearest(motion.t, begin + (end - begin) * k / std::max(1, options.strip - 1)));
  if (out.times.empty()) out.times.push_back(motion.t.size() - 1);
  std::vector<std::string> names;
  for (const Drawing::Body& b : drawing.bodies) names.push_back(b.name);
  for (const std::string& name : options.traces) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
      return fail(ErrorKind::File, fmt::format("nothing is recorded of a body '{}'{}", name, did_you_mean(name, names)));
    out.traced.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  return out;
}

Vec3 place(const Drawing::Point& p, const std::vector<Pose>& X) {
  return p.body < 0 ? p.p : X[static_cast<std::size_t>(p.body)] * p.p;
}

// A body and what is on it at a time.
template <class Act>
void for_parts(const Drawing::Body& body, double t, const Act& act) {
  act(body.corners);
  for (const Drawing::Load& load : body.loads)
    if (load.there(t)) act(load.corners);
}

// Everything that is drawn, as points.
std::vector<Vec3> extent_of(const Drawing& drawing, const Motion& motion, const Chosen& chosen) {
  std::vector<Vec3> out = drawing.obstacles;
  for (const std::size_t i : chosen.times) {
    for (std::size_t b = 0; b < drawing.bodies.size(); ++b)
      for_parts(drawing.bodies[b], motion.t[i], [&](const Drawing::Corners& corners) {
        for (const Vec3& p : corners) out.push_back(motion.X[i][b] * p);
      });
    for (const auto& tendon : drawing.tendons)
      for (const Drawing::Point& p : tendon) out.push_back(place(p, motion.X[i]));
  }
  for (const auto& bodies : motion.p)
    for (const std::size_t b : chosen.traced) out.push_back(bodies[b]);
  std::erase_if(out, [](const Vec3& p) { return !p.allFinite(); });
  return out;
}

// The corners of a box around these points, a little wider, from the highest to the lowest.
std::vector<Vec3> box_around(const std::vector<Vec3>& points) {
  Vec3 low = points[0], high = low;
  for (const Vec3& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  const Vec3 margin = Vec3::Constant(0.02 * (high - low).maxCoeff());
  low -= margin, high += margin;
  std::vector<Vec3> out;
  for (int c = 0; c < 8; ++c) out.push_back({(c & 1 ? low : high).x(), (c & 2 ? low : high).y(), (c & 4 ? low : high).z()});
  return out;
}

void draw_poses(Canvas& canvas, const Camera& camera, const Drawing& drawing, const Motion& motion, const Chosen& chosen) {
  const std::size_t n = chosen.times.size();
  for (std::size_t k = 0; k < n; ++k) {
    const float faint = n < 2 ? 0 : 0.75f * (1 - static_cast<float>(k) / static_cast<float>(n - 1));
    const std::vector<Pose>& X = motion.X[chosen.times[k]];
    for (std::size_t b = 0; b < drawing.bodies.size(); ++b)
      for_parts(drawing.bodies[b], motion.t[chosen.times[k]], [&](const Drawing::Corners& corners) {
        draw(canvas, camera, corners, X[b], mixed(kBodies[b % std::size(kBodies)], kPaper, faint));
      });
    for (const auto& tendon : drawing.tendons)
      for (std::size_t i = 0; i + 1 < tendon.size(); ++i)
        canvas.stroke(camera(place(tendon[i], X)), camera(place(tendon[i + 1], X)), 0.002 * canvas.width(),
                      mixed(kTendon, kPaper, faint));
  }
}

// Centres of mass lie inside of bodies: their lines are drawn over everything.
void draw_traces(Canvas& canvas, const Camera& camera, const Motion& motion, const Chosen& chosen) {
  const auto before = [&](const Vec3& p) -> Vec3 { return camera(p) - 1e5 * Vec3::UnitZ(); };
  for (const std::size_t b : chosen.traced)
    for (std::size_t i = 0; i + 1 < motion.p.size(); ++i)
      canvas.stroke(before(motion.p[i][b]), before(motion.p[i + 1][b]), 0.002 * canvas.width(),
                    mixed(kBodies[b % std::size(kBodies)], kTendon, 0.4f));
}

}  // namespace

Result<std::string> picture_png(const std::string& directory, const PictureOptions& options) {
  if (options.width < 16 || options.height < 16 || static_cast<long>(options.width) * options.height > kMostPixels)
    return fail(ErrorKind::File, fmt::format("a picture has at least 16 x 16 and at most {} pixels", kMostPixels), directory);
  auto log = LogReader::open(Output{directory}.log());
  if (!log) return tl::unexpected(log.error());
  DecimationOptions only;
  only.wanted = is_pose;
  only.poses = 2000;
  const Decimated data = decimate(*log, only);
  const auto drawing = drawing_of(data.layout.scene);
  if (!drawing) return fail(drawing.error().kind, drawing.error().what, directory);
  const Motion motion = motion_of(data, *drawing);
  if (motion.t.empty()) return fail(ErrorKind::File, "the recording holds no poses of all bodies", directory);
  const auto what = chosen(options, motion, *drawing);
  if (!what) return fail(what.error().kind, what.error().what, directory);
  std::vector<Vec3> extent = extent_of(*drawing, motion, *what);
  if (extent.empty()) return fail(ErrorKind::File, "the poses of the recording are no numbers", directory);

  Canvas canvas(options.width, options.height, kPaper);
  if (options.axes) extent = box_around(extent);
  // With axes there is room for numbers beside them.
  const Camera camera = fitted(options.from.value_or(look_from(motion)), extent, canvas, options.axes ? 0.8 : 0.9);
  if (options.axes) draw_axes(canvas, camera, extent[7], extent[0]);
  draw(canvas, camera, drawing->obstacles, {}, kObstacle);
  draw_poses(canvas, camera, *drawing, motion, *what);
  draw_traces(canvas, camera, motion, *what);
  return canvas.png();
}

}  // namespace invar
