# Warnings are errors, for every target of the project.
add_compile_options(
  -Wall -Wextra -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  -Wshadow -Wcast-align -Wundef -Wvla)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Members guarded by a mutex are annotated; clang proves the annotations.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()
