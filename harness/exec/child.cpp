#include "child.h"

#include "error.h"
#include "protocol.h"

#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace qkprof::exec {
namespace {

constexpr const char* library_variable = "QKPROF_EXEC_LIBRARY";
constexpr const char* library_file = "libqkprof_exec.so";

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) {
        all.push_back(const_cast<char*>(text.c_str()));  // as execve wants it, which does not write there
    }
    all.push_back(nullptr);
    return all;
}

}  // namespace

std::string injection_library() {
    namespace fs = std::filesystem;
    std::error_code error;
    const char* named = std::getenv(library_variable);
    const bool given = named != nullptr && *named != '\0';
    const fs::path path =
        given ? fs::absolute(named, error) : fs::read_symlink("/proc/self/exe", error).parent_path() / library_file;
    if (!fs::is_regular_file(path, error)) {
        throw CannotMeasure(
            given ? fmt::format("{} is {}, and there is no such library.", library_variable, named)
                  : fmt::format("There is no {}, which watches the command from inside: it is built with the CUDA "
                                "device, so build with nvcc, or name it in {}.",
                                path.string(), library_variable));
    }
    if (path.string().find_first_of(": \t") != std::string::npos) {
        throw CannotMeasure(
            fmt::format("The library {} has a blank or a colon in its path, which LD_PRELOAD cannot "
                        "say: move it.",
                        path.string()));
    }
    return path.string();
}

std::vector<std::string> injected_environment(const std::string& library, const std::string& socket) {
    constexpr const char* preload = "LD_PRELOAD";
    const std::vector<std::string> injections = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};
    std::vector<std::string> environment;
    for (const std::string& variable : injections) {
        const char* value = std::getenv(variable.c_str());
        if (value != nullptr && *value != '\0') {
            throw CannotMeasure(
                fmt::format("{} is set, to {}: another tool watches already, and there can be one "
                            "alone. Unset it, or run qkprof exec outside that tool.",
                            variable, value));
        }
        environment.push_back(fmt::format("{}={}", variable, library));
    }
    const char* others = std::getenv(preload);
    environment.push_back(others != nullptr && *others != '\0' ? fmt::format("{}={}:{}", preload, library, others)
                                                               : fmt::format("{}={}", preload, library));
    environment.push_back(fmt::format("{}={}", socket_variable, socket));
    const std::size_t own = environment.size();
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        bool replaced = false;
        for (std::size_t i = 0; i < own; ++i) {
            replaced = replaced || text.starts_with(environment[i].substr(0, environment[i].find('=') + 1));
        }
        if (!replaced) {
            environment.emplace_back(text);
        }
    }
    return environment;
}

pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, const sigset_t& mask,
            const sigset_t& standard) {
    const std::vector<char*> words = pointers(command);
    const std::vector<char*> variables = pointers(environment);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setsigdefault(&attributes, &standard);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t child = -1;
    int error = posix_spawnp(&child, words.front(), nullptr, &attributes, words.data(), variables.data());
    if (error == ENOEXEC) {  // a script that does not say by what: as a shell does it
        std::vector<std::string> by_shell = {"/bin/sh"};
        by_shell.insert(by_shell.end(), command.begin(), command.end());
        const std::vector<char*> again = pointers(by_shell);
        error = posix_spawnp(&child, again.front(), nullptr, &attributes, again.data(), variables.data());
    }
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        throw InputError(
            fmt::format("The command {} cannot be run: {}.", command.front(), std::generic_category().message(error)));
    }
    return child;
}

std::string signal_name(int signal) {
    const char* name = sigabbrev_np(signal);
    return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace qkprof::exec
