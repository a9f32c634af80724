# The checks of the sources, each an edge of the build with a stamp, so that they run in parallel and only on what changed:
# lint_clang is clang-format and clang-tidy on every C++ source, lint_shell is shellcheck. The tools are looked up when
# a target is built: scripts/test installs them, and scripts/run has no use for them. Included by CMakeLists.txt at the
# top, whose lists of sources it takes.

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lint)

# add_lint(target name COMMAND command... DEPENDS file...): adds a check to the target.
function(add_lint target name)
  cmake_parse_arguments(PARSE_ARGV 2 lint "" "" "COMMAND;DEPENDS")
  set(stamp ${CMAKE_BINARY_DIR}/lint/${name}.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${lint_COMMAND}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${lint_DEPENDS}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMENT "Checking ${name}"
    VERBATIM)
  set_property(GLOBAL APPEND PROPERTY ${target}_stamps ${stamp})
endfunction()

file(GLOB_RECURSE FORMATTED CONFIGURE_DEPENDS
  kernels/*.h kernels/*.cpp kernels/*.cu harness/*.h harness/*.cpp harness/*.cu tests/*.h tests/*.cpp tests/*.cu)
add_lint(lint_clang format COMMAND clang-format --dry-run -Werror ${FORMATTED} DEPENDS ${FORMATTED} .clang-format)

file(GLOB SCRIPTS CONFIGURE_DEPENDS scripts/* .ci/*)
set(SHELL_SCRIPTS)
foreach(script ${SCRIPTS})
  file(STRINGS ${script} first_line LIMIT_COUNT 1)
  if(script MATCHES "\\.sh$" OR first_line MATCHES "^#!.*sh$")
    list(APPEND SHELL_SCRIPTS ${script})
  endif()
endforeach()
add_lint(lint_shell shell COMMAND shellcheck --external-sources ${SHELL_SCRIPTS} DEPENDS ${SHELL_SCRIPTS})

# A kernel is checked as the host compiler sees it, through its emulated wrapper; no clang-tidy of Debian 12 reads this
# CUDA. A change of a kernels header checks everything again, one of the harness leaves the kernels alone.
file(GLOB_RECURSE KERNEL_HEADERS CONFIGURE_DEPENDS kernels/*.h)
file(GLOB_RECURSE HARNESS_HEADERS CONFIGURE_DEPENDS harness/*.h tests/*.h)
foreach(kernel ${KERNEL_SOURCES})
  get_filename_component(name ${kernel} NAME_WE)
  add_lint(lint_clang kernels_${name}
    COMMAND clang-tidy --quiet -p ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/emulated_kernels/${name}.cpp
    DEPENDS ${kernel} ${KERNEL_HEADERS} .clang-tidy)
endforeach()
set(TEST_SOURCES)
get_property(test_targets DIRECTORY tests PROPERTY BUILDSYSTEM_TARGETS)
foreach(target ${test_targets})  # only what is compiled is known to clang-tidy
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "/tests/[^/]*\\.cpp$")
  list(APPEND TEST_SOURCES ${sources})
endforeach()
set(CUDA_HOST_SOURCES ${CUDA_DEVICE_SOURCES})
list(FILTER CUDA_HOST_SOURCES INCLUDE REGEX "\\.cpp$")
set(LIBRARY_SOURCES ${INJECT_SOURCES})  # of those that other programs load
foreach(target qkprof_ranges qkprof_eviction qkprof_traffic qkprof_ffi)
  if(TARGET ${target})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^harness/ffi/")
    list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/)
    list(APPEND LIBRARY_SOURCES ${sources})
  endif()
endforeach()
foreach(source ${HARNESS_SOURCES} ${CUDA_HOST_SOURCES} ${CLI_SOURCES} ${LIBRARY_SOURCES} ${TEST_SOURCES})
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
  string(REPLACE "/" "_" name ${name})
  add_lint(lint_clang ${name}
    COMMAND clang-tidy --quiet -p ${CMAKE_BINARY_DIR} ${source}
    DEPENDS ${source} ${KERNEL_HEADERS} ${HARNESS_HEADERS} .clang-tidy tests/.clang-tidy)
endforeach()

foreach(target lint_clang lint_shell)
  get_property(stamps GLOBAL PROPERTY ${target}_stamps)
  add_custom_target(${target} DEPENDS ${stamps})
endforeach()
