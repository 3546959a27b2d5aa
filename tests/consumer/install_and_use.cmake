# SPDX-License-Identifier: Apache-2.0
# Installs the build into a fresh prefix, then configures, builds and runs `project` with nothing but that prefix.
set(work "${BUILD}/consumer")
file(REMOVE_RECURSE "${work}")

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${ARGN}\n${text}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${work}/prefix")

# One source that includes every installed header: the set is closed under its own includes.
file(GLOB_RECURSE headers RELATIVE "${work}/prefix/include" "${work}/prefix/include/invar/*.hpp")
list(LENGTH headers count)
if(count LESS 20)
  message(FATAL_ERROR "only ${count} headers were installed")
endif()
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
list(JOIN headers "" text)
file(WRITE "${work}/all_headers.cpp" "${text}")

step(${CMAKE_COMMAND} -S "${SOURCE}" -B "${work}/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${work}/prefix -DALL_HEADERS=${work}/all_headers.cpp -DWANTED_VERSION=${VERSION})
step(${CMAKE_COMMAND} --build "${work}/build")
step("${work}/build/consumer")
