#include "progress.h"

#include "cli.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace qkprof::cli {
namespace {

// Unlike fmt::print it does not throw: a progress that nobody can read ends no run.
void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

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
        write(erase_line + step.substr(0, columns() - 1));
        line_is_open_ = true;
    } else {
        cli::say(step);
    }
}

void Progress::clear() {
    if (line_is_open_) {
        write(erase_line);
        line_is_open_ = false;
    }
}

}  // namespace qkprof::cli
