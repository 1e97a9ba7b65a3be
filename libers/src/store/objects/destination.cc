#include "store/objects/destination.h"

#include <string>

#include "layout/geometry.h"

namespace ers::store {

std::optional<Destination> DestinationOf(const Manifest& object,
                                         const TransitionTarget& target) {
  Scheme scheme = target.scheme.value_or(object.scheme);
  if (target.parity_blocks) scheme.m = *target.parity_blocks;
  if (target.width || target.data_blocks) {
    if (!scheme.elastic()) return std::nullopt;
    const std::optional<Width> named =
        target.width ? target.width
                     : WidthNamed(scheme, std::to_string(*target.data_blocks));
    if (!named || !HasWidth(scheme, *named)) return std::nullopt;
    return Destination{scheme, *named};
  }
  // More or less parity says nothing of the width.
  const bool keeps_width = layout::SameButParity(scheme, object.scheme);
  const Width width = keeps_width ? object.width : Width::kNarrow;
  return Destination{scheme, width};
}

bool IsThere(const Manifest& object, const Destination& to) {
  return to.scheme == object.scheme && to.width == object.width;
}

TransitionPath PathTo(const Manifest& object, const Destination& to) {
  if (layout::SameButParity(to.scheme, object.scheme)) {
    return to.width == object.width ? TransitionPath::kParity
                                    : TransitionPath::kPlan;
  }
  // A value that is inline moves with its manifest.
  return object.is_inline ? TransitionPath::kPlan : TransitionPath::kReencode;
}

}  // namespace ers::store

namespace ers {

std::string_view TransitionPathName(TransitionPath path) {
  switch (path) {
    case TransitionPath::kReencode:
      return "reencode";
    case TransitionPath::kParity:
      return "parity";
    case TransitionPath::kPlan:
      break;
  }
  return "plan";
}

}  // namespace ers
