#include "bench/contender.h"

#include <fmt/format.h>

#include "bench/contenders.h"

namespace ers::bench {

std::string_view CaseName(Case c) {
  switch (c) {
    case Case::kPut:
      return "put";
    case Case::kGet:
      return "get";
    case Case::kUpdate:
      return "update";
    case Case::kForward:
      return "forward";
    case Case::kBackward:
      return "backward";
  }
  return "";
}

std::vector<std::string> ContenderNames() {
  return {"libers",       "libers-reuse", "columns", "bare",
          "bare-columns", "plain",        "copies",  "rep",
          "one-by-one",   "srs",          "reencode"};
}

Result<std::unique_ptr<Contender>> MakeContender(std::string_view name,
                                                 const Field& field) {
  const Scheme& scheme = field.scheme;
  const int copies = scheme.m + 1;
  if (name == "libers") {
    return MakeLibraryContender("libers", field, scheme, GetMemory::kFresh);
  }
  if (name == "libers-reuse") {
    return MakeLibraryContender("libers-reuse", field, scheme,
                                GetMemory::kReused);
  }
  if (name == "columns") {
    if (!scheme.elastic()) return nullptr;
    return MakeLibraryContender("columns", field, scheme, GetMemory::kFresh,
                                Unit::kColumns);
  }
  if (name == "bare") return MakeBareContender("bare", field, Unit::kBlocks);
  if (name == "bare-columns") {
    if (!scheme.elastic()) return nullptr;
    return MakeBareContender("bare-columns", field, Unit::kColumns);
  }
  if (name == "plain") return MakeCopiesContender("plain", field, 1);
  if (name == "copies") return MakeCopiesContender("copies", field, copies);
  if (name == "rep") {
    const auto rep = ParseScheme(fmt::format("rep:{}", copies));
    if (!rep.has_value()) return Fail(rep.error());
    return MakeLibraryContender("rep", field, *rep, GetMemory::kFresh);
  }
  if (name == "one-by-one") {
    if (scheme.kind == SchemeKind::kRep) return nullptr;
    return MakeOneByOneContender(field);
  }
  if (name == "srs") {
    if (!scheme.elastic()) return nullptr;
    return MakeLibraryContender(
        "srs", field, Scheme{SchemeKind::kSrs, scheme.k, scheme.m, scheme.kp},
        GetMemory::kFresh);
  }
  if (name == "reencode") {
    if (!scheme.elastic()) return nullptr;
    return MakeReencodeContender(field);
  }
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("no implementation '{}': there are {}", name,
                          fmt::join(ContenderNames(), ", ")));
}

}  // namespace ers::bench
