#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "client/c_api.h"

namespace ers::c_api {
namespace {

// `text` cut to fit, ending in 0.
void CopyText(std::string_view text, char* out, std::size_t bytes) {
  const std::size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

template <std::size_t kBytes>
void CopyText(std::string_view text, char (&out)[kBytes]) {
  CopyText(text, out, kBytes);
}

// In C it may be none of its enumeration.
std::underlying_type_t<ers_width> NumberOf(const ers_width& width) {
  std::underlying_type_t<ers_width> number;
  std::memcpy(&number, &width, sizeof(number));
  return number;
}

Result<Scheme> SchemeOf(const char* text) {
  if (text == nullptr) return ClientOptions().scheme;
  return ParseScheme(text);
}

ers_status WidthNamedC(const char* scheme, const char* name, ers_width* width) {
  if (name == nullptr || width == nullptr) return ERS_INVALID_ARGUMENT;
  const Result<Scheme> parsed = SchemeOf(scheme);
  if (!parsed) return ERS_INVALID_ARGUMENT;
  const std::optional<Width> found = WidthNamed(*parsed, name);
  if (!found) return ERS_INVALID_ARGUMENT;
  *width = static_cast<ers_width>(*found);
  return ERS_OK;
}

ers_status WidthNameC(const char* scheme, const ers_width& width, char* name,
                      std::size_t name_bytes) {
  if (name == nullptr || name_bytes == 0) return ERS_INVALID_ARGUMENT;
  const Result<Scheme> parsed = SchemeOf(scheme);
  const auto known = static_cast<Width>(NumberOf(width));
  if (!parsed || !HasWidth(*parsed, known)) return ERS_INVALID_ARGUMENT;
  CopyText(WidthName(*parsed, known), name, name_bytes);
  return ERS_OK;
}

}  // namespace

// The numbers are the same by promise; a change of one side fails here.
static_assert(static_cast<int>(StatusCode::kOk) == ERS_OK);
static_assert(static_cast<int>(StatusCode::kNotFound) == ERS_NOT_FOUND);
static_assert(static_cast<int>(StatusCode::kInvalidArgument) ==
              ERS_INVALID_ARGUMENT);
static_assert(static_cast<int>(StatusCode::kUnavailable) == ERS_UNAVAILABLE);
static_assert(static_cast<int>(StatusCode::kOutcomeUnknown) ==
              ERS_OUTCOME_UNKNOWN);
static_assert(static_cast<int>(StatusCode::kNoMemory) == ERS_NO_MEMORY);
static_assert(static_cast<int>(StatusCode::kTooLarge) == ERS_TOO_LARGE);
static_assert(static_cast<int>(StatusCode::kCorruption) == ERS_CORRUPTION);
static_assert(ERS_INLINE_AUTO == kInlineAuto);
static_assert(static_cast<int>(StatusCode::kUnsupportedFormat) ==
              ERS_UNSUPPORTED_FORMAT);
static_assert(static_cast<int>(StatusCode::kNotManaged) == ERS_NOT_MANAGED);
static_assert(static_cast<int>(StatusCode::kConflict) == ERS_CONFLICT);
static_assert(static_cast<int>(StatusCode::kAlreadyThere) == ERS_ALREADY_THERE);
static_assert(static_cast<int>(StatusCode::kIncompatible) == ERS_INCOMPATIBLE);
static_assert(kMaxKeyBytes == ERS_MAX_KEY_BYTES);
static_assert(kMaxValueBytes == ERS_MAX_VALUE_BYTES);

ers_status ToC(StatusCode code) { return static_cast<ers_status>(code); }

ers_path ToC(TransitionPath path) {
  switch (path) {
    case TransitionPath::kReencode:
      return ERS_BY_REENCODE;
    case TransitionPath::kParity:
      return ERS_BY_PARITY;
    case TransitionPath::kPlan:
      break;
  }
  return ERS_BY_PLAN;
}

void ToC(const ObjectInfo& info, ers_object_info* out) {
  *out = {};
  CopyText(FormatScheme(info.scheme), out->scheme);
  out->width = static_cast<ers_width>(info.width);
  out->is_inline = info.is_inline ? 1 : 0;
  out->in_columns = info.unit == Unit::kColumns ? 1 : 0;
  out->length = info.length;
  out->group_bytes = info.group_bytes;
  out->groups = info.groups;
  out->client_flags = info.client_flags;
  out->cas = info.cas;
  out->expiry = info.expiry;
  CopyText(info.version, out->version);
}

void ToC(const GetInfo& info, ers_object_info* out) {
  ToC(static_cast<const ObjectInfo&>(info), out);
  out->degraded = info.degraded ? 1 : 0;
  out->repaired_blocks = info.repaired_blocks;
}

bool FromC(ers_variant variant, TransitionVariant* out) {
  switch (variant) {
    case ERS_OPTIMAL:
      *out = TransitionVariant::kOptimal;
      return true;
    case ERS_PAPER:
      *out = TransitionVariant::kPaper;
      return true;
    case ERS_NO_ORDER:
      *out = TransitionVariant::kNoOrder;
      return true;
  }
  return false;
}

Result<PutOptions> FromC(const ers_put_options* options) {
  PutOptions out;
  if (options == nullptr) return out;
  if (options->scheme != nullptr) {
    Result<Scheme> scheme = ParseScheme(options->scheme);
    if (!scheme) return Fail(scheme.error());
    out.scheme = *scheme;
  }
  const std::underlying_type_t<ers_width> width = NumberOf(options->width);
  if (width > ERS_THIRD) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("there is no width {}", width));
  }
  out.width = static_cast<Width>(width);
  out.client_flags = options->client_flags;
  out.expiry = options->expiry;
  out.expected_cas = options->expected_cas;
  out.only_if_absent = options->only_if_absent != 0;
  return out;
}

Status NullArgument(const char* name) {
  return {StatusCode::kInvalidArgument,
          std::string(name) + " must not be NULL"};
}

Result<std::string_view> KeyOf(const char* key, std::size_t key_bytes) {
  if (key == nullptr) return Fail(NullArgument("key"));
  return std::string_view(key, key_bytes);
}

ers_status RecordException(ers_client* client, CallKind kind) noexcept {
  // No allocation here: memory is what ran out.
  client->error.clear();
  if (kind == CallKind::kChanges) {
    client->fixed_error =
        "this process ran out of memory during the change: read the key to "
        "learn whether it happened";
    return ERS_OUTCOME_UNKNOWN;
  }
  client->fixed_error =
      "this process ran out of memory: free some and call again";
  return ERS_NO_MEMORY;
}

}  // namespace ers::c_api

extern "C" {

const char* ers_status_name(ers_status status) {
  // The names are literals, so they end in 0.
  return ers::StatusCodeName(static_cast<ers::StatusCode>(status)).data();
}

ers_status ers_width_named(const char* scheme, const char* name,
                           ers_width* width) try {
  return ers::c_api::WidthNamedC(scheme, name, width);
} catch (...) {
  return ERS_NO_MEMORY;
}

ers_status ers_width_name(const char* scheme, ers_width width, char* name,
                          size_t name_bytes) try {
  return ers::c_api::WidthNameC(scheme, width, name, name_bytes);
} catch (...) {
  return ERS_NO_MEMORY;
}

}  // extern "C"
