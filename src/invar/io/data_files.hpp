// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "invar/control/actuator.hpp"
#include "invar/learn/data_set.hpp"

namespace invar {

/// How a file of measurements is read.
struct DataFileOptions {
  bool accelerations = true;        ///< they are in the file; otherwise they are left zero
  bool loads = true;                ///< recordings: wrenches on bodies count as known; false: unknown loads are among them
  std::vector<Actuator> actuators;  ///< on the nominal model, whose inputs are in the file
};

/// A run from a table of comma-separated values. Columns, in any order:
///   time;  BODY.px … pz, qw qx qy qz, vx … vz, wx … wz   of every body: centre of mass, attitude, velocities; World
///   BODY.ax … az, BODY.alphax … alphaz                   accelerations
///   BODY.fx … fz, BODY.mx … mz                           known wrenches about the centre of mass; absent: none
///   FREEDOM.effort                                       known efforts; absent: none
///   flow.x, flow.y, flow.z                               measured; absent: still
///   ACTUATOR.input                                       of the actuators named
/// SI units. Refused with file and line: missing columns, and what the table refuses.
Result<DataRun> read_csv_run(const Model& model, const std::string& path, const DataFileOptions& options);

/// A run from a recording: a directory with a `run.log`, such a log, or a `run.h5`. Efforts of motors are the inputs of
/// controllers that bear the name of a freedom (control/…/input_elbow). An actuator of the options does what its recorded input
/// asks for, as it is told: on its freedom, or at its points where no wrenches are taken from the recording. The flow is the
/// measured one. What is not in the recording and taken for zero is the run's remark.
Result<DataRun> read_recorded_run(const Model& model, const std::string& path, const DataFileOptions& options);

/// Either, by what is there.
Result<DataRun> read_run(const Model& model, const std::string& path, const DataFileOptions& options);

}  // namespace invar
