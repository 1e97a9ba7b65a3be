// The calls of ers/ers.h that read and change objects.
#include <algorithm>

#include "client/c_api.h"

using ers::Client;
using ers::GetInfo;
using ers::Result;
using ers::Status;
using ers::StatusCode;
using ers::c_api::Call;
using ers::c_api::CallKind;
using ers::c_api::Deliver;
using ers::c_api::FromC;
using ers::c_api::KeyOf;
using ers::c_api::NullArgument;
using ers::c_api::ToC;

namespace {

std::span<const std::byte> Bytes(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

ers::Source SourceOf(ers_source source, void* context) {
  return [source, context](std::span<std::byte> into) -> Result<std::size_t> {
    const std::ptrdiff_t filled = source(context, into.data(), into.size());
    // Bytes from a user: more than fits is caught, not believed.
    if (filled < 0 || static_cast<std::size_t>(filled) > into.size()) {
      return ers::Fail(StatusCode::kInvalidArgument,
                       "the source callback gave up: nothing was changed");
    }
    return static_cast<std::size_t>(filled);
  };
}

// What every change does with its key and its outcome.
template <typename Change>
ers_status ChangeObject(ers_client* client, const char* key,
                        std::size_t key_bytes, ers_object_info* info,
                        const Change& change) noexcept {
  return Call(client, CallKind::kChanges, [&](Client& c) -> Status {
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    return Deliver(change(c, *name), info);
  });
}

// What the gets into an ers_value do around the one call that differs.
template <typename Read>
ers_status GetValue(ers_client* client, const char* key, std::size_t key_bytes,
                    ers_value** value, ers_object_info* info,
                    const Read& read) noexcept {
  return Call(client, CallKind::kReads, [&](Client& c) -> Status {
    if (value == nullptr) return NullArgument("value");
    if (*value == nullptr) *value = new ers_value;
    // Empty from here on, so that a failure leaves nothing of an older get.
    (*value)->value.Resize(0);
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    const Result<GetInfo> got = read(c, *name, (*value)->value);
    if (!got) (*value)->value.Resize(0);
    return Deliver(got, info);
  });
}

// The same of the gets into memory of the caller's.
template <typename Read>
ers_status GetInto(ers_client* client, const char* key, std::size_t key_bytes,
                   ers::Value::Memory memory, std::size_t* bytes,
                   ers_object_info* info, const Read& read) noexcept {
  return Call(client, CallKind::kReads, [&](Client& c) -> Status {
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    ers::Value value(std::move(memory));
    const Result<GetInfo> got = read(c, *name, value);
    if (got && bytes != nullptr) *bytes = value.size();
    return Deliver(got, info);
  });
}

ers::Value::Memory Room(void* into, std::size_t room) {
  return [into, room](std::size_t bytes) {
    return bytes > room ? nullptr : static_cast<std::byte*>(into);
  };
}

}  // namespace

extern "C" {

const char* ers_last_error(const ers_client* client) {
  if (client == nullptr) return "client must not be NULL";
  if (client->fixed_error != nullptr) return client->fixed_error;
  return client->error.c_str();
}

void ers_put_options_init(ers_put_options* options) { *options = {}; }

ers_status ers_put(ers_client* client, const char* key, size_t key_bytes,
                   const void* value, size_t bytes,
                   const ers_put_options* options, ers_object_info* info) {
  return ChangeObject(
      client, key, key_bytes, info,
      [&](Client& c, std::string_view name) -> Result<ers::ObjectInfo> {
        if (value == nullptr && bytes > 0) {
          return ers::Fail(NullArgument("value"));
        }
        const Result<ers::PutOptions> cpp = FromC(options);
        if (!cpp) return ers::Fail(cpp.error());
        return c.Put(name, Bytes(value, bytes), *cpp);
      });
}

ers_status ers_put_from(ers_client* client, const char* key, size_t key_bytes,
                        ers_source source, void* context,
                        const ers_put_options* options, ers_object_info* info) {
  return ChangeObject(
      client, key, key_bytes, info,
      [&](Client& c, std::string_view name) -> Result<ers::ObjectInfo> {
        if (source == nullptr) return ers::Fail(NullArgument("source"));
        const Result<ers::PutOptions> cpp = FromC(options);
        if (!cpp) return ers::Fail(cpp.error());
        return c.PutFrom(name, SourceOf(source, context), *cpp);
      });
}

const void* ers_value_data(const ers_value* value) {
  return value == nullptr ? nullptr : value->value.data();
}

size_t ers_value_bytes(const ers_value* value) {
  return value == nullptr ? 0 : value->value.size();
}

void ers_value_free(ers_value* value) { delete value; }

ers_status ers_get(ers_client* client, const char* key, size_t key_bytes,
                   ers_value** value, ers_object_info* info) {
  return GetValue(client, key, key_bytes, value, info,
                  [](Client& c, std::string_view name, ers::Value& into) {
                    return c.Get(name, into);
                  });
}

ers_status ers_get_range(ers_client* client, const char* key, size_t key_bytes,
                         uint64_t offset, uint64_t length, ers_value** value,
                         ers_object_info* info) {
  return GetValue(client, key, key_bytes, value, info,
                  [&](Client& c, std::string_view name, ers::Value& into) {
                    return c.GetRange(name, offset, length, into);
                  });
}

ers_status ers_get_into(ers_client* client, const char* key, size_t key_bytes,
                        void* into, size_t room, size_t* bytes,
                        ers_object_info* info) {
  return GetInto(client, key, key_bytes, Room(into, room), bytes, info,
                 [](Client& c, std::string_view name, ers::Value& value) {
                   return c.Get(name, value);
                 });
}

ers_status ers_get_range_into(ers_client* client, const char* key,
                              size_t key_bytes, uint64_t offset, void* into,
                              size_t room, size_t* bytes,
                              ers_object_info* info) {
  return GetInto(client, key, key_bytes, Room(into, room), bytes, info,
                 [&](Client& c, std::string_view name, ers::Value& value) {
                   return c.GetRange(name, offset, room, value);
                 });
}

ers_status ers_get_by(ers_client* client, const char* key, size_t key_bytes,
                      uint64_t offset, uint64_t length, ers_memory memory,
                      void* context, size_t* bytes, ers_object_info* info) {
  return GetInto(
      client, key, key_bytes,
      [memory, context](std::size_t size) {
        return static_cast<std::byte*>(memory(context, size));
      },
      bytes, info,
      [&](Client& c, std::string_view name,
          ers::Value& value) -> Result<GetInfo> {
        if (memory == nullptr) return ers::Fail(NullArgument("memory"));
        return c.GetRange(name, offset, length, value);
      });
}

ers_status ers_get_to(ers_client* client, const char* key, size_t key_bytes,
                      ers_begin begin, ers_sink sink, void* context,
                      ers_object_info* info) {
  return Call(client, CallKind::kReads, [&](Client& c) -> Status {
    if (sink == nullptr) return NullArgument("sink");
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    return Deliver(c.GetTo(
                       *name,
                       [&](const GetInfo& known) {
                         if (begin == nullptr) return;
                         ers_object_info first;
                         ToC(known, &first);
                         begin(context, &first);
                       },
                       [&](std::span<const std::byte> bytes) -> Status {
                         if (sink(context, bytes.data(), bytes.size()) == 0)
                           return {};
                         return {StatusCode::kInvalidArgument,
                                 "the sink callback ended the get"};
                       }),
                   info);
  });
}

ers_status ers_update(ers_client* client, const char* key, size_t key_bytes,
                      uint64_t offset, const void* value, size_t bytes,
                      ers_object_info* info) {
  return ChangeObject(
      client, key, key_bytes, info,
      [&](Client& c, std::string_view name) -> Result<ers::ObjectInfo> {
        if (value == nullptr && bytes > 0) {
          return ers::Fail(NullArgument("value"));
        }
        return c.Update(name, offset, Bytes(value, bytes));
      });
}

ers_status ers_append(ers_client* client, const char* key, size_t key_bytes,
                      const void* value, size_t bytes, ers_object_info* info) {
  return ChangeObject(
      client, key, key_bytes, info,
      [&](Client& c, std::string_view name) -> Result<ers::ObjectInfo> {
        if (value == nullptr && bytes > 0) {
          return ers::Fail(NullArgument("value"));
        }
        std::span<const std::byte> rest = Bytes(value, bytes);
        return c.Append(
            name, [&rest](std::span<std::byte> into) -> Result<std::size_t> {
              const std::size_t size = std::min(into.size(), rest.size());
              std::copy_n(rest.begin(), size, into.begin());
              rest = rest.subspan(size);
              return size;
            });
      });
}

ers_status ers_append_from(ers_client* client, const char* key,
                           size_t key_bytes, ers_source source, void* context,
                           ers_object_info* info) {
  return ChangeObject(
      client, key, key_bytes, info,
      [&](Client& c, std::string_view name) -> Result<ers::ObjectInfo> {
        if (source == nullptr) return ers::Fail(NullArgument("source"));
        return c.Append(name, SourceOf(source, context));
      });
}

ers_status ers_delete(ers_client* client, const char* key, size_t key_bytes) {
  return Call(client, CallKind::kChanges, [&](Client& c) -> Status {
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    return c.Delete(*name);
  });
}

ers_status ers_export(ers_client* client, const char* key, size_t key_bytes,
                      int mode, ers_object_info* info) {
  return ChangeObject(
      client, key, key_bytes, info,
      [&](Client& c, std::string_view name) -> Result<ers::ObjectInfo> {
        if (mode != ERS_EXPORT && mode != ERS_CHECK_ONLY) {
          return ers::Fail(StatusCode::kInvalidArgument,
                           "mode must be ERS_EXPORT or ERS_CHECK_ONLY");
        }
        return c.Export(name, mode == ERS_EXPORT ? ers::ExportMode::kExport
                                                 : ers::ExportMode::kCheckOnly);
      });
}

ers_status ers_transition(ers_client* client, const char* key, size_t key_bytes,
                          const char* to, ers_variant variant,
                          ers_transition_info* info) {
  return Call(client, CallKind::kChanges, [&](Client& c) -> Status {
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    if (to == nullptr) return NullArgument("to");
    const auto target = ers::ParseTransitionTarget(to);
    if (!target) return target.error();
    ers::TransitionVariant chosen;
    if (!FromC(variant, &chosen)) {
      return {StatusCode::kInvalidArgument,
              "variant must be ERS_OPTIMAL, ERS_PAPER or ERS_NO_ORDER"};
    }
    const auto done = c.Transition(*name, *target, chosen);
    if (!done) return done.error();
    if (info == nullptr) return {};
    info->path = ToC(done->path);
    info->data_reads = done->data_reads;
    info->parity_reads = done->parity_reads;
    info->writes = done->writes;
    info->bytes_read = done->bytes_read;
    info->bytes_written = done->bytes_written;
    info->microseconds = done->microseconds;
    ToC(done->object, &info->object);
    return {};
  });
}

}  // extern "C"
