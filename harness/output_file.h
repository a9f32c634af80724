// A result file that is whole at every moment: written beside its place and renamed into it.
#pragma once

#include <filesystem>
#include <string_view>

namespace qkprof {

class OutputFile {
  public:
    // Throws InputError, naming the option that it was given with, when a file could not be written at `path`; leaves
    // nothing behind and touches no file there. `instead`: what else to do than naming a file.
    explicit OutputFile(std::filesystem::path path, const char* option = "--out",
                        const char* instead = ", or use --format json, which prints the profile");
    // Replaces the file by one with this content. Throws CannotMeasure when the disk refuses it; what was there stays.
    void write(std::string_view content) const;

  private:
    std::filesystem::path path_;
};

}  // namespace qkprof
