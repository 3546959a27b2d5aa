# SPDX-License-Identifier: Apache-2.0
# NAME=install: the build goes into a fresh prefix. Otherwise `project` is configured, built and run with nothing but that prefix, by
# COMPILER with FLAGS. REFUSED: it does not compile, and the compiler says what to do. HEADERS: with every installed header.
# PKG_CONFIG: without CMake, with its flags; REFUSED then without them.
set(work "${BUILD}/consumer")
set(prefix "${work}/prefix")
set(kind "${work}/${NAME}")

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${ARGN}\n${text}")
  endif()
endfunction()

# Refused with words that lead on.
function(refusal)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT failed)
    message(FATAL_ERROR "this compiled and must not: ${ARGN}")
  endif()
  if(NOT text MATCHES "Invar (needs|was built)")
    message(FATAL_ERROR "refused without a word of ours:\n${text}")
  endif()
endfunction()

if(NAME STREQUAL "install")
  file(REMOVE_RECURSE "${work}")
  step(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
  # Nothing that a stranger includes has a layout that follows his processor.
  file(GLOB_RECURSE headers "${prefix}/include/invar/*.hpp")
  foreach(header ${headers})
    file(STRINGS "${header}" bad REGEX "__AVX|__SSE|__FMA")
    if(bad)
      message(FATAL_ERROR "${header} depends on the processor: ${bad}")
    endif()
  endforeach()
  return()
endif()
file(REMOVE_RECURSE "${kind}")
file(MAKE_DIRECTORY "${kind}")

if(PKG_CONFIG)
  file(GLOB pc "${prefix}/lib*/pkgconfig" "${prefix}/lib/*/pkgconfig")
  list(JOIN pc ":" pc)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc} ${PKG_CONFIG} --cflags --libs --static invar
    RESULT_VARIABLE failed OUTPUT_VARIABLE flags ERROR_VARIABLE why OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "pkg-config: ${why}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(sources "${SOURCE}/main.cpp" "${SOURCE}/border.cpp")
  if(REFUSED)
    list(FILTER flags EXCLUDE REGEX "^-DEIGEN")
    refusal(${COMPILER} -std=c++20 -fsyntax-only "${SOURCE}/main.cpp" ${flags})
  else()
    step(${COMPILER} -std=c++20 -O1 -march=native "-DSHIPPED=\"${prefix}/share/invar\"" ${sources} ${flags} -o "${kind}/consumer")
    step("${kind}/consumer")
  endif()
  return()
endif()

# One source that includes every installed header: the set is closed under its own includes.
set(text "")
if(HEADERS)
  file(GLOB_RECURSE headers RELATIVE "${prefix}/include" "${prefix}/include/invar/*.hpp")
  list(LENGTH headers count)
  if(count LESS 20)
    message(FATAL_ERROR "only ${count} headers were installed")
  endif()
  list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
  list(JOIN headers "" text)
endif()
file(WRITE "${kind}/all_headers.cpp" "${text}")

step(${CMAKE_COMMAND} -S "${SOURCE}" -B "${kind}/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER=${COMPILER}
  "-DCMAKE_CXX_FLAGS=" "-DCMAKE_CXX_FLAGS_NONE=" -DCMAKE_PREFIX_PATH=${prefix} -DALL_HEADERS=${kind}/all_headers.cpp
  -DWANTED_VERSION=${VERSION} "-DEXTRA=${FLAGS}")
if(REFUSED)
  refusal(${CMAKE_COMMAND} --build "${kind}/build")
else()
  step(${CMAKE_COMMAND} --build "${kind}/build")
  step("${kind}/build/consumer")
endif()
