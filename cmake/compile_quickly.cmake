# For what is compiled for longer than it runs: command lines, and most tests.
function(ers_compile_quickly target)
  if(ERS_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()
