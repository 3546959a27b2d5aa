# SPDX-License-Identifier: Apache-2.0
# compile_together(target sources...): sources of one folder are compiled a dozen at a time. Headers take most of the time of a
# compilation, and a folder shares them. What stands in an unnamed namespace of one file is therefore seen by its neighbours: names
# there say what they are for. The preset dev compiles one by one.
set(INVAR_TOGETHER 12)

function(compile_together target)
  set(folders "")
  foreach(source ${ARGN})
    get_filename_component(folder "${source}" DIRECTORY)
    list(APPEND folders "${folder}")
    list(APPEND "in_${folder}" "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(group 0)
  foreach(folder ${folders})
    set(taken ${INVAR_TOGETHER})
    list(SORT "in_${folder}")
    foreach(source ${in_${folder}})
      if(taken EQUAL INVAR_TOGETHER)
        math(EXPR group "${group} + 1")
        set(taken 0)
      endif()
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
      math(EXPR taken "${taken} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
