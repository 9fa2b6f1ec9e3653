# SPDX-License-Identifier: Apache-2.0
"""Messages of protobuf without a schema: fields by their numbers."""

import struct


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of an int, or of text, bytes or a message in bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """[(number, value)] of a message."""
    found, at = [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = number()
        if key & 7 == 0:
            found.append((key >> 3, number()))
        elif key & 7 == 1:
            found.append((key >> 3, struct.unpack_from("<Q", data, at)[0]))
            at += 8
        elif key & 7 == 5:
            found.append((key >> 3, struct.unpack_from("<I", data, at)[0]))
            at += 4
        else:
            length = number()
            found.append((key >> 3, data[at:at + length]))
            at += length
    return found
