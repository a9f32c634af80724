# The target `lint`: clang-format, shellcheck, and clang-tidy on every C++ source, each an edge of the build with a stamp, so
# that they run in parallel and only on what changed. The tools are looked up when the target is built: scripts/test
# installs them, and scripts/run has no use for them. Expects EMULATED_SOURCES, HARNESS_SOURCES and CLI_SOURCES.

set(LINT_STAMPS)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lint)

# add_lint(name COMMAND command... DEPENDS file...)
function(add_lint name)
  cmake_parse_arguments(PARSE_ARGV 1 lint "" "" "COMMAND;DEPENDS")
  set(stamp ${CMAKE_BINARY_DIR}/lint/${name}.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${lint_COMMAND}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${lint_DEPENDS}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMENT "Checking ${name}"
    VERBATIM)
  set(LINT_STAMPS ${LINT_STAMPS} ${stamp} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE FORMATTED CONFIGURE_DEPENDS
  kernels/*.h kernels/*.cpp kernels/*.cu harness/*.h harness/*.cpp harness/*.cu tests/*.h tests/*.cpp tests/*.cu)
add_lint(format COMMAND clang-format --dry-run -Werror ${FORMATTED} DEPENDS ${FORMATTED} .clang-format)

file(GLOB SCRIPTS CONFIGURE_DEPENDS scripts/* .ci/*)
set(SHELL_SCRIPTS)
foreach(script ${SCRIPTS})
  file(STRINGS ${script} first_line LIMIT_COUNT 1)
  if(script MATCHES "\\.sh$" OR first_line MATCHES "^#!.*sh$")
    list(APPEND SHELL_SCRIPTS ${script})
  endif()
endforeach()
add_lint(shell COMMAND shellcheck --external-sources ${SHELL_SCRIPTS} DEPENDS ${SHELL_SCRIPTS})

# A kernel is checked as the host compiler sees it, through its emulated wrapper; no clang-tidy of Debian 12 reads this
# CUDA. A change of a kernels header checks everything again, one of the harness leaves the kernels alone.
file(GLOB_RECURSE KERNEL_HEADERS CONFIGURE_DEPENDS kernels/*.h)
file(GLOB_RECURSE HARNESS_HEADERS CONFIGURE_DEPENDS harness/*.h tests/*.h)
foreach(kernel ${KERNEL_SOURCES})
  get_filename_component(name ${kernel} NAME_WE)
  add_lint(kernels_${name}
    COMMAND clang-tidy --quiet -p ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/emulated_kernels/${name}.cpp
    DEPENDS ${kernel} ${KERNEL_HEADERS} .clang-tidy)
endforeach()
file(GLOB TEST_SOURCES CONFIGURE_DEPENDS tests/*.cpp)
if(NOT QKPROF_WITH_CUDA)
  list(FILTER TEST_SOURCES EXCLUDE REGEX "/gpu_[^/]*$")  # not compiled, so not known to clang-tidy
endif()
set(CUDA_HOST_SOURCES ${CUDA_DEVICE_SOURCES})
list(FILTER CUDA_HOST_SOURCES INCLUDE REGEX "\\.cpp$")
foreach(source ${HARNESS_SOURCES} ${CUDA_HOST_SOURCES} ${CLI_SOURCES} ${TEST_SOURCES})
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
  string(REPLACE "/" "_" name ${name})
  add_lint(${name}
    COMMAND clang-tidy --quiet -p ${CMAKE_BINARY_DIR} ${source}
    DEPENDS ${source} ${KERNEL_HEADERS} ${HARNESS_HEADERS} .clang-tidy)
endforeach()

add_custom_target(lint DEPENDS ${LINT_STAMPS})
