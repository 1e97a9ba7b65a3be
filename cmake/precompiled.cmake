# For builds that nobody edits in: they end sooner. Headers that nearly every file
# includes are parsed once per target, so that a file that forgets an include
# compiles all the same here.
set(ERS_COMMON_HEADERS
  algorithm array cassert chrono coroutine cstddef cstdint cstring deque
  functional map memory mutex optional set span string string_view utility
  vector fmt/format.h)
# What more is parsed in many files of some targets.
file(GLOB_RECURSE ERS_SESSION_HEADER ${PROJECT_SOURCE_DIR}/libers/src/store/session.h)
set(ERS_HEADERS_OF_ers_objects ${ERS_SESSION_HEADER})
set(ERS_HEADERS_OF_store_with_bugs ${ERS_SESSION_HEADER})
set(ERS_HEADERS_OF_ers_proxy ${ERS_SESSION_HEADER} nlohmann/json.hpp spdlog/spdlog.h)
set(ERS_HEADERS_OF_sim_world sim/world/sim_world.h)
set(ERS_HEADERS_OF_sim_selftest sim/world/sim_world.h)
set(ERS_HEADERS_OF_store_sim sim/world/sim_world.h)
# With ASan nothing else is optimised, which takes half as long: these work more
# than they wait.
set(ERS_OPTIMISED "^(ers_objects|sim_world|store_sim|fuzz_.*|unit_(code|plan))$")
# Fewer files than these cost more than they save.
set(ERS_PRECOMPILED_FROM 6)

function(ers_precompile folder)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS folders)
    ers_precompile(${each})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    if(NOT sources)
      continue()
    endif()
    list(FILTER sources INCLUDE REGEX "\\.cc$")
    if(ERS_SANITIZE MATCHES "address" AND NOT target MATCHES "${ERS_OPTIMISED}")
      target_compile_options(${target} PRIVATE -O0)
    endif()
    list(LENGTH sources count)
    if(count GREATER_EQUAL ERS_PRECOMPILED_FROM)
      set(headers ${ERS_COMMON_HEADERS} ${ERS_HEADERS_OF_${target}})
      if(sources MATCHES "_test\\.cc")
        list(APPEND headers catch2/catch.hpp)
      endif()
      if(sources MATCHES "_command\\.cc")
        list(APPEND headers CLI/CLI.hpp nlohmann/json.hpp)
      endif()
      list(TRANSFORM headers REPLACE "^([^/].*)$"
           "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
      target_precompile_headers(${target} PRIVATE ${headers})
      if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        # For ccache: made at another time they are the same.
        target_compile_options(${target} PRIVATE
          "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
      endif()
    endif()
  endforeach()
endfunction()
