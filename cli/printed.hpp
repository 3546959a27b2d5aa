// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "invar/io/printable.hpp"

/// The one way from the program to a terminal. Names come from files, and a terminal obeys what it is told: texts among the
/// arguments are made printable, the words of the program itself are not looked at. Nothing here throws: what cannot be printed
/// is remembered (see unwritten), and a run goes on without a terminal.
namespace invar::cli {

/// To stdout or stderr, as it is.
void put(std::FILE* to, std::string_view text);

/// errno of the first text that stdout did not take; 0: it took all. Empties its buffer.
int unwritten();

template <class T>
using Printable = std::conditional_t<std::is_convertible_v<const T&, std::string_view>, std::string, T>;

template <class T>
Printable<T> made_printable(const T& x) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return printable(std::string_view(x));
  else
    return x;
}

/// Formats and prints to stdout.
template <class... T>
void print(fmt::format_string<Printable<T>...> words, const T&... x) {
  put(stdout, fmt::format(words, made_printable(x)...));
}

/// Formats and prints to stderr.
template <class... T>
void print_error(fmt::format_string<Printable<T>...> words, const T&... x) {
  put(stderr, fmt::format(words, made_printable(x)...));
}

}  // namespace invar::cli
