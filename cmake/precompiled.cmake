# Parses the headers that nearly every file includes once per target. Only for
# builds that nobody edits in: a file that forgets an include compiles all the
# same here.
set(ERS_COMMON_HEADERS
  algorithm array cassert chrono coroutine cstddef cstdint cstring deque
  functional map memory mutex optional set span string string_view utility
  vector fmt/format.h)
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
    list(LENGTH sources count)
    if(count GREATER_EQUAL ERS_PRECOMPILED_FROM)
      set(headers ${ERS_COMMON_HEADERS})
      if(sources MATCHES "_test\\.cc")
        list(APPEND headers catch2/catch.hpp)
      endif()
      if(sources MATCHES "_command\\.cc")
        list(APPEND headers CLI/CLI.hpp nlohmann/json.hpp)
      endif()
      list(TRANSFORM headers REPLACE "(.+)"
           "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
      target_precompile_headers(${target} PRIVATE ${headers})
    endif()
  endforeach()
endfunction()
