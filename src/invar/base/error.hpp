// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace invar {

/// What went wrong, in terms of who has to act: the author of a file, of a model, of a command line, or of the numerics.
enum class ErrorKind {
  File,      ///< cannot be opened, read or written
  Syntax,    ///< is not well formed
  Model,     ///< describes no mechanism
  Scenario,  ///< asks for something that makes no sense
  State,     ///< positions or velocities contradict the joints
  Option,    ///< command line or function argument
  Numerics,  ///< the computation cannot go on
};

/// An error meant for a person: a sentence, and where it was found ("models/crane.toml:14:9", or empty).
struct Error {
  ErrorKind kind;
  std::string what;
  std::string where;

  /// "where: what", the line that a program prints.
  std::string text() const { return where.empty() ? what : where + ": " + what; }
};

/// A value, or the Error that stood in its way. For files, models and options; never used in the step loop (see Status).
template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string what, std::string where = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(what), std::move(where)});
}

}  // namespace invar
