"""Frames of the binary protocol, to and from words.

    opcode=set key={a} flags=5 expiry=0 value=one opaque=7 cas={=cas1}

Extras are made of the words flags, expiry, verbosity (4 bytes each), delta,
initial (8 bytes each) and extras (hex), in the order they stand in. The
header's lengths follow from them; keylen, extlen, bodylen, magic and datatype
say something else than what is true. raw=BYTES is no frame but bytes.
"""

import re
import struct

import template

HEADER = struct.Struct(">BBHBBHIIQ")
REQUEST, RESPONSE = 0x80, 0x81
OPCODES = {name: number for number, name in enumerate(
    "get set add replace delete incr decr quit flush getq noop version getk "
    "getkq append prepend stat setq addq replaceq deleteq incrq decrq quitq "
    "flushq appendq prependq verbosity touch gat gatq".split())}
OPCODES.update(sasl_list=0x20, sasl_auth=0x21, sasl_step=0x22, gatk=0x23,
               gatkq=0x24)
NAMES = {number: name for name, number in OPCODES.items()}
EXTRAS = {"flags": ">I", "expiry": ">I", "verbosity": ">I", "delta": ">Q",
          "initial": ">Q"}
NUMBERS = {"magic", "keylen", "extlen", "datatype", "vbucket", "bodylen",
           "opaque", "cas"}


def number(text, scope):
    return int(template.expand(text, scope), 0)


def opcode(text, scope):
    return OPCODES[text] if text in OPCODES else number(text, scope)


def split_words(text):
    """(name, value) of every word; a blank in braces ends no word."""
    for word in re.findall(r"(?:\{[^}]*\}|\S)+", text):
        name, equals, value = word.partition("=")
        if not equals:
            raise template.TemplateError(f"NAME=VALUE expected: {word}")
        yield name, value


def encode(text, scope, time_number):
    """The bytes of a frame in words."""
    fields = {}
    extras = b""
    for name, value in split_words(text):
        value = value.replace("#", str(time_number))
        if name == "raw":
            return template.expand(value, scope)
        if name == "opcode":
            fields[name] = opcode(value, scope)
        elif name in EXTRAS:
            extras += struct.pack(EXTRAS[name], number(value, scope))
        elif name == "extras":
            extras += bytes.fromhex(value)
        elif name in ("key", "value"):
            fields[name] = template.expand(value, scope)
        elif name in NUMBERS:
            fields[name] = number(value, scope)
        else:
            raise template.TemplateError(f"no such field: {name}")
    key, value = fields.get("key", b""), fields.get("value", b"")
    body = extras + key + value
    return HEADER.pack(
        fields.get("magic", REQUEST), fields.get("opcode", 0),
        fields.get("keylen", len(key)), fields.get("extlen", len(extras)),
        fields.get("datatype", 0), fields.get("vbucket", 0),
        fields.get("bodylen", len(body)), fields.get("opaque", 0),
        fields.get("cas", 0)) + body


class Frame:
    """A whole frame of an answer. Where the lengths contradict each other,
    the body is all value."""

    def __init__(self, data):
        (self.magic, self.opcode, keylen, extlen, self.datatype, self.status,
         bodylen, self.opaque, self.cas) = HEADER.unpack_from(data)
        self.length = HEADER.size + bodylen
        self.lengths = (keylen, extlen)
        if keylen + extlen > bodylen:
            keylen = extlen = 0
        body = data[HEADER.size:self.length]
        self.extras = body[:extlen]
        self.key = body[extlen:extlen + keylen]
        self.value = body[extlen + keylen:]


def decode(data):
    """The whole frames at the front, and the bytes that are left."""
    frames = []
    while len(data) >= HEADER.size and data[0] == RESPONSE:
        frame = Frame(data)
        if frame.length > len(data):
            break
        frames.append(frame)
        data = data[frame.length:]
    return frames, data


def matches(frame, text, scope):
    """Whether the frame has every field that the words name."""
    for name, value in split_words(text):
        if name == "opcode":
            same = frame.opcode == opcode(value, scope)
        elif name in ("status", "opaque", "cas", "datatype"):
            same = getattr(frame, name) == number(value, scope)
        elif name == "flags":
            same = frame.extras == struct.pack(">I", number(value, scope))
        elif name == "extras":
            same = frame.extras == bytes.fromhex(value)
        elif name == "number":
            same = frame.value == struct.pack(">Q", number(value, scope))
        elif name in ("key", "value"):
            same = getattr(frame, name) == template.expand(value, scope)
        else:
            raise template.TemplateError(f"no such field: {name}")
        if not same:
            return False
    return True
