#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace qkprof::cli {
namespace {

constexpr const char* erase_line = "\r\x1b[K";

std::size_t columns() {
    winsize size = {};
    constexpr std::size_t usual = 80;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

}  // namespace

Progress::Progress(bool asked) : terminal_(isatty(STDERR_FILENO) != 0), shown_(asked || terminal_) {}

Progress::~Progress() { clear(); }

void Progress::say(const std::string& step) {
    if (!shown_) {
        return;
    }
    if (terminal_) {
        fmt::print(stderr, "{}{}", erase_line, step.substr(0, columns() - 1));
        line_is_open_ = true;
    } else {
        fmt::print(stderr, "{}\n", step);
    }
    std::fflush(stderr);
}

void Progress::clear() {
    if (line_is_open_) {
        fmt::print(stderr, "{}", erase_line);
        std::fflush(stderr);
        line_is_open_ = false;
    }
}

}  // namespace qkprof::cli
