// A program that runs with what injects the library into it and into all that it starts.
#pragma once

#include <sys/types.h>
#include <csignal>
#include <string>
#include <vector>

namespace qkprof::exec {

// libqkprof_exec.so beside this program, or what QKPROF_EXEC_LIBRARY names. Throws CannotMeasure where there is none.
std::string injection_library();

// The environment of this process with what loads the library into the command and tells it of the socket. Throws
// CannotMeasure where another tool has set the same.
std::vector<std::string> injected_environment(const std::string& library, const std::string& socket);

// Starts the command, in this process's group, and returns its number; `mask` is its signal mask, and of SIGINT and
// SIGQUIT those in `standard` are not ignored. Throws InputError where it cannot be run.
pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, const sigset_t& mask,
            const sigset_t& standard);

// "SIGTERM"
std::string signal_name(int signal);

}  // namespace qkprof::exec
