// The file that a tuning table is written to: what it holds already stays, but for the problems that are tuned anew. It
// is whole at every moment.
#pragma once

#include "output_file.h"
#include "tuning_table.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

class TuningFile {
  public:
    // Throws InputError where it cannot be written, or holds something else than a tuning table of the `known`
    // variants.
    TuningFile(const std::filesystem::path& path, const std::vector<Variant>& known);

    // What the entries are of. Throws InputError where the file's are another device's.
    void set_device(const std::string& device);

    // Writes the file with this entry, too. Throws CannotMeasure where the disk refuses it.
    void add(const std::string& variant, const TuningEntry& entry);

    // How many entries were added, replaced and kept, in a sentence.
    std::string summary() const;

  private:
    std::filesystem::path path_;
    OutputFile file_;
    std::optional<TuningTable> before_;
    TuningTable found_;
};

}  // namespace qkprof
