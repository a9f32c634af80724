// What a long command is doing, on standard error: one line that is written over, or lines where that is no terminal.
#pragma once

#include <string>

namespace qkprof::cli {

class Progress {
  public:
    // Says nothing where standard error is no terminal, unless `asked`.
    explicit Progress(bool asked);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    Progress(Progress&&) = delete;
    Progress& operator=(Progress&&) = delete;

    void say(const std::string& step);
    // Takes the line away, before something else is printed.
    void clear();

  private:
    bool terminal_;
    bool shown_;
    bool line_is_open_ = false;
};

}  // namespace qkprof::cli
