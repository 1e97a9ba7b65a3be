# What a program prints of itself is installed with it: completion of shells,
# and a manual page where MANUAL is said. They are made as soon as the program
# is, so that they are never older.
function(ers_describe program)
  cmake_parse_arguments(ARG "MANUAL" "" "" ${ARGN})
  set(folder ${PROJECT_BINARY_DIR}/described)
  file(MAKE_DIRECTORY ${folder})
  set(bash ${folder}/${program})
  set(fish ${folder}/${program}.fish)
  set(zsh ${folder}/_${program})
  add_custom_command(TARGET ${program} POST_BUILD
    COMMAND ${program} --print-completion bash > ${bash}
    COMMAND ${program} --print-completion fish > ${fish}
    COMMAND ${program} --print-completion zsh > ${zsh}
    BYPRODUCTS ${bash} ${fish} ${zsh})
  install(FILES ${bash}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${fish}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES ${zsh} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  if(ARG_MANUAL)
    set(manual ${folder}/${program}.1)
    add_custom_command(TARGET ${program} POST_BUILD
      COMMAND ${program} --print-manual > ${manual} BYPRODUCTS ${manual})
    install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endfunction()
