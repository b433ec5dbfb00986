#include "base/schema.h"

#include "base/check.h"

namespace weir {
namespace {

// Deeper nesting than any type has; a bound for the recursion over damaged bytes.
constexpr int depth_max = 64;

// Fewest bytes of a field: its name's length, and its schema's kind, name and number of fields.
constexpr std::size_t field_least_bytes = 4 + 1 + 4 + 4;

Schema read(ByteReader& reader, int depth) {
  Schema schema;
  schema.kind = reader.scalar<SchemaKind>();
  if (schema.kind > SchemaKind::opaque) reader.fail("a kind of schema");
  if (depth > depth_max) reader.fail("a schema that is less deeply nested");
  schema.name = reader.text();
  const std::size_t count = reader.count(field_least_bytes);
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    std::string name(reader.text());
    schema.fields.push_back({std::move(name), read(reader, depth + 1)});
  }
  return schema;
}

// "a, b" or, with names, "x: a, y: b".
std::string fields_text(const Schema& schema) {
  std::string text;
  for (const Schema::Field& field : schema.fields) {
    if (!text.empty()) text += ", ";
    if (!field.name.empty()) text += field.name + ": ";
    text += to_string(field.schema);
  }
  return text;
}

}  // namespace

bool operator==(const Schema& a, const Schema& b) {
  return a.kind == b.kind && a.name == b.name && a.fields == b.fields;
}

std::string_view name_of(SchemaKind kind) {
  switch (kind) {
    case SchemaKind::boolean:
      return "bool";
    case SchemaKind::character:
      return "char";
    case SchemaKind::int8:
      return "int8";
    case SchemaKind::int16:
      return "int16";
    case SchemaKind::int32:
      return "int32";
    case SchemaKind::int64:
      return "int64";
    case SchemaKind::uint8:
      return "uint8";
    case SchemaKind::uint16:
      return "uint16";
    case SchemaKind::uint32:
      return "uint32";
    case SchemaKind::uint64:
      return "uint64";
    case SchemaKind::float32:
      return "float32";
    case SchemaKind::float64:
      return "float64";
    case SchemaKind::string:
      return "string";
    case SchemaKind::enumeration:
      return "enum";
    case SchemaKind::duration:
      return "duration";
    case SchemaKind::time_point:
      return "time_point";
    case SchemaKind::optional:
      return "optional";
    case SchemaKind::list:
      return "list";
    case SchemaKind::array:
      return "array";
    case SchemaKind::set:
      return "set";
    case SchemaKind::map:
      return "map";
    case SchemaKind::tuple:
      return "tuple";
    case SchemaKind::variant:
      return "variant";
    case SchemaKind::record:
      return "record";
    case SchemaKind::opaque:
      return "opaque";
  }
  WEIR_CHECK(false);
  return {};
}

std::string to_string(const Schema& schema) {
  if (schema.kind == SchemaKind::record) return schema.name + "{" + fields_text(schema) + "}";
  std::string kind(name_of(schema.kind));
  if (schema.name.empty() && schema.fields.empty()) return kind;
  const bool both = !schema.name.empty() && !schema.fields.empty();
  return kind + "<" + schema.name + (both ? ", " : "") + fields_text(schema) + ">";
}

void Codec<Schema>::encode(ByteWriter& writer, const Schema& schema) {
  writer.scalar(schema.kind);
  writer.text(schema.name);
  writer.count(schema.fields.size());
  for (const Schema::Field& field : schema.fields) {
    writer.text(field.name);
    encode(writer, field.schema);
  }
}

Result<Schema> Codec<Schema>::decode(ByteReader& reader) {
  Schema schema = read(reader, 0);
  if (!reader.ok()) return reader.error();
  return schema;
}

}  // namespace weir
