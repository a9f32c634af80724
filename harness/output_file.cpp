#include "output_file.h"

#include "error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace qkprof {
namespace {

std::string last_error() { return std::generic_category().message(errno); }

// A file of its own name beside the target, removed unless it was renamed into place.
class Temporary {
  public:
    explicit Temporary(const std::filesystem::path& target)
        : path_((target.parent_path() / fmt::format(".{}.XXXXXX", target.filename().string())).string()),
          descriptor_(mkostemp(path_.data(), O_CLOEXEC)) {
        if (descriptor_ < 0) {
            return;  // errno says why
        }
        // The mode of the file that is replaced; of a new one, what any program gives it.
        struct stat status = {};
        const mode_t mask = umask(0);
        umask(mask);
        const mode_t mode = stat(target.c_str(), &status) == 0 ? status.st_mode & 07777U : 0666U & ~mask;
        if (fchmod(descriptor_, mode) != 0) {
            close(descriptor_);
            unlink(path_.c_str());
            descriptor_ = -1;
        }
    }
    ~Temporary() {
        if (descriptor_ >= 0) {
            close(descriptor_);
            unlink(path_.c_str());
        }
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    Temporary(Temporary&&) = delete;
    Temporary& operator=(Temporary&&) = delete;

    bool opened() const { return descriptor_ >= 0; }

    bool write(std::string_view content) {
        while (!content.empty()) {
            const ssize_t written = ::write(descriptor_, content.data(), content.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written < 0) {
                return false;
            }
            content.remove_prefix(static_cast<std::size_t>(written));
        }
        return true;
    }

    bool rename_to(const std::filesystem::path& target) {
        if (rename(path_.c_str(), target.c_str()) != 0) {
            return false;
        }
        close(descriptor_);
        descriptor_ = -1;
        return true;
    }

  private:
    std::string path_;
    int descriptor_;
};

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, const char* option, const char* instead) : path_(std::move(path)) {
    const auto refused = [&](const std::string& why) {
        return InputError(fmt::format("{} {}{}.", option, path_.string(), why));
    };
    struct stat status = {};
    const bool exists = stat(path_.c_str(), &status) == 0;
    if (path_.filename().empty() || (exists && S_ISDIR(status.st_mode))) {
        throw refused(": it is a folder; name a file");
    }
    if (exists && !S_ISREG(status.st_mode)) {
        throw refused(fmt::format(": it is a device or a pipe, and the file is put in place by renaming; name a file{}",
                                  instead));
    }
    if (!exists && std::filesystem::is_symlink(path_)) {
        throw refused(": it is a link to a file that is not there; name the file");
    }
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        struct stat printed = {};
        if (exists && fstat(stream, &printed) == 0 && printed.st_dev == status.st_dev &&
            printed.st_ino == status.st_ino) {
            throw refused(fmt::format(
                ": standard {} goes there, and would be lost when the file is put in place; name another file{}",
                stream == STDOUT_FILENO ? "output" : "error", instead));
        }
    }
    if (exists && access(path_.c_str(), W_OK) != 0) {
        throw refused(" cannot be written: " + last_error());
    }
    if (exists) {
        path_ = std::filesystem::canonical(path_);  // a link stays a link; the file behind it is replaced
    }
    if (!Temporary(path_).opened()) {
        throw refused(" cannot be written: " + last_error());
    }
}

void OutputFile::write(std::string_view content) const {
    Temporary temporary(path_);
    if (!temporary.opened() || !temporary.write(content) || !temporary.rename_to(path_)) {
        throw CannotMeasure(fmt::format("{} could not be written: {}. What it held before is still there.",
                                        path_.string(), last_error()));
    }
}

}  // namespace qkprof
