# Every library the project stands on, found once. Debian 12 package names are
# in memcached-cluster/debian-packages.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET libevent_core)
pkg_check_modules(EVENT_EXTRA REQUIRED IMPORTED_TARGET libevent_extra)
pkg_check_modules(MEMCACHED REQUIRED IMPORTED_TARGET libmemcached)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# Jerasure, gf-complete and libhashkit ship neither pkg-config nor CMake files
# in Debian.
find_path(JERASURE_INCLUDE_DIR jerasure.h REQUIRED)
find_path(JERASURE_SUBDIR reed_sol.h PATH_SUFFIXES jerasure REQUIRED)
find_library(JERASURE_LIBRARY Jerasure REQUIRED)
find_library(GF_COMPLETE_LIBRARY gf_complete REQUIRED)
add_library(jerasure INTERFACE)
target_include_directories(jerasure SYSTEM INTERFACE ${JERASURE_INCLUDE_DIR}
                                                     ${JERASURE_SUBDIR})
target_link_libraries(jerasure INTERFACE ${JERASURE_LIBRARY}
                                         ${GF_COMPLETE_LIBRARY})

find_library(HASHKIT_LIBRARY hashkit REQUIRED)
add_library(hashkit INTERFACE)
target_link_libraries(hashkit INTERFACE ${HASHKIT_LIBRARY})
