// Any text as the file of another proxy: it is refused with its name and a
// reason, or becomes settings that this one takes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/import.h"
#include "config/load.h"
#include "fuzz/memory_file.h"
#include "fuzz/require.h"

namespace ers::proxy {
namespace {

using fuzz::Require;

void Check(const fuzz::MemoryFile& theirs, const fuzz::MemoryFile& ours,
           const std::string& pool) {
  const Result<std::string> settings = ImportSettings(theirs.name(), pool);
  if (!settings) {
    Require(settings.error().message().starts_with(theirs.name()),
            "a refusal names the file");
    return;
  }
  ours.Write(*settings);
  const Result<ServerOptions> options = LoadOptions(ours.name());
  Require(options.has_value(), "what is imported is read");
  Require(!options->cluster.servers.empty() &&
              !options->cluster.distribution.empty() &&
              options->warm_from.servers.empty() && options->threads == 2,
          "what is imported is what it says");
}

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const ers::fuzz::MemoryFile theirs;
  static const ers::fuzz::MemoryFile ours;
  theirs.Write({reinterpret_cast<const char*>(data), size});
  ers::proxy::Check(theirs, ours, "");
  ers::proxy::Check(theirs, ours, "a");
  return 0;
}
