# For builds that nobody edits in: they end in half the time. What many files
# include is parsed, and what is inline in it compiled, once for all of them. So a
# file that forgets an include compiles all the same here.
#
# Files of one folder are compiled as one: names without linkage are unique within
# a folder. Tests call what differs by the same names (Fixture, kServers), file by
# file. Files of which a fuzz target has its own object are compiled one by one: it
# takes the place of that file alone. What is compiled often, of one target, shares
# a precompiled header.
set(ERS_COMMON_HEADERS
  algorithm array cassert chrono coroutine cstddef cstdint cstring deque
  functional map memory mutex optional set span string string_view utility
  vector fmt/format.h)
set(ERS_HEADERS_OF_sim_selftest sim/world/sim_world.h)
# With a sanitizer nothing else is optimised, which takes half as long: these work
# more than they wait.
set(ERS_OPTIMISED "^(ers_objects|sim_world|store_sim|fuzz_.*|unit_(code|plan))$")
# Fewer objects than these cost more than they save.
set(ERS_PRECOMPILED_FROM 6)

function(ers_join_folders target sources)
  get_target_property(base ${target} SOURCE_DIR)
  get_property(apart GLOBAL PROPERTY ERS_COMPILED_APART)
  set(objects)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${base})
    cmake_path(GET source PARENT_PATH group)
    cmake_path(RELATIVE_PATH group BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${group}" group)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP ${group})
    if(source IN_LIST apart)
      set(group ${source})
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    list(APPEND objects ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON
    UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It takes what the joined files keep to themselves for a header's.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  list(REMOVE_DUPLICATES objects)
  list(LENGTH objects count)
  ers_precompile(${target} ${count})
endfunction()

function(ers_precompile target objects)
  if(objects LESS ERS_PRECOMPILED_FROM)
    return()
  endif()
  set(headers ${ERS_COMMON_HEADERS} ${ARGN} ${ERS_HEADERS_OF_${target}})
  list(TRANSFORM headers REPLACE "^(.+)$"
       "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # For ccache: made at another time they are the same.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  elseif("catch2/catch.hpp" IN_LIST ARGN)
    # Precompiled, the system's headers lose their right not to be warned of.
    foreach(warning array-bounds stringop-overflow stringop-overread)
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-${warning}>)
    endforeach()
  endif()
endfunction()

function(ers_build_quickly folder)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS folders)
    ers_build_quickly(${each})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^[^$]*\\.cc$")
    list(LENGTH sources count)
    if(count EQUAL 0)
      continue()
    endif()
    set(tests OFF)
    if(sources MATCHES "_test\\.cc")
      set(tests ON)
    endif()
    if((ERS_SANITIZE OR tests) AND NOT target MATCHES "${ERS_OPTIMISED}")
      target_compile_options(${target} PRIVATE -O0)
    endif()
    if(NOT tests)
      ers_join_folders(${target} "${sources}")
    else()
      ers_precompile(${target} ${count} catch2/catch.hpp)
    endif()
  endforeach()
endfunction()
