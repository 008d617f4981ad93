"""Places in the source of compiled kernels' instructions, from the section .debug_line that nvcc's
-lineinfo leaves in a cubin: line programs of DWARF 2 to 4, with NVIDIA's operation for calls that
were inlined, which names the row of the call."""

import bisect
import os
import struct

RELA, REL = 4, 9  # kinds of sections
COPY, ADVANCE_ADDRESS, ADVANCE_LINE, SET_FILE = 1, 2, 3, 4
ADD_CONSTANT, FIXED_ADVANCE = 8, 9
END_SEQUENCE, SET_ADDRESS, INLINED_CALL = 1, 2, 0x90


class Line:
    """From its address on, instructions are of this place.

    caller  the line of the call, where it lies in a function that was inlined; else None
    """

    def __init__(self, address, file, line, caller):
        self.address, self.file, self.line, self.caller = address, file, line, caller

    def chain(self):
        """[(file, line)] from the kernel itself to the innermost function."""
        return (self.caller.chain() if self.caller else []) + [(self.file, self.line)]

    def text(self):
        """As tools/ptx names a place, with the files' last names: "a.cuh:3, inlined at b.cu:7"."""
        own = "%s:%d" % (os.path.basename(self.file), self.line)
        return own + (", inlined at " + self.caller.text() if self.caller else "")


class Reader:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def number(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def string(self):
        end = self.data.index(b"\0", self.at)
        text, self.at = self.data[self.at : end].decode(), end + 1
        return text

    def strings(self, after=0):
        """Strings until an empty one, each with so many numbers behind it: [[text, number, …]]."""
        found = []
        while self.data[self.at]:
            found.append([self.string()] + [self.unsigned() for _ in range(after)])
        self.at += 1
        return found

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        begin = self.at
        value, bits = self.unsigned(), 7 * (self.at - begin)
        return value - (1 << bits) if value >> bits - 1 else value


class Program:
    """The line program of one unit of a section."""

    def __init__(self, reader):
        self.reader = reader
        self.end = reader.number("I") + reader.at
        version = reader.number("H")
        first_operation = reader.number("I") + reader.at
        if not 2 <= version <= 4:
            raise ValueError("lines of DWARF %d; 2 to 4 are known" % version)
        reader.at += 2 if version < 4 else 3
        self.base, self.width = reader.number("b"), reader.number("B")
        self.first_special = reader.number("B")
        self.operands = [reader.number("B") for _ in range(self.first_special - 1)]
        folders = [""] + [folder for folder, in reader.strings()]
        files = reader.strings(after=3)
        self.files = [""] + [os.path.join(folders[folder], name) for name, folder, *_ in files]
        reader.at = first_operation
        self.lines, self.done = [], {}  # of the sequence at hand; by kernel

    def reset(self):
        self.address, self.file, self.line, self.caller = 0, 1, 1, 0
        self.kernel, self.lines = None, []

    def add(self):
        caller = self.lines[self.caller - 1] if 0 < self.caller <= len(self.lines) else None
        self.lines.append(Line(self.address, self.files[self.file], self.line, caller))

    def run(self, kernel_at):
        """{kernel: [Line], by address}. kernel_at: which kernel's address stands at an offset."""
        self.reset()
        while self.reader.at < self.end:
            operation = self.reader.number("B")
            if operation >= self.first_special:
                self.address += (operation - self.first_special) // self.width
                self.line += self.base + (operation - self.first_special) % self.width
                self.add()
            elif operation == 0:
                self.extended(kernel_at)
            else:
                self.standard(operation)
        return self.done

    def extended(self, kernel_at):
        after = self.reader.unsigned() + self.reader.at
        operation = self.reader.number("B")
        if operation == SET_ADDRESS:
            self.kernel = kernel_at(self.reader.at)
            self.address = self.reader.number("Q")
        elif operation == INLINED_CALL:
            self.caller = self.reader.unsigned()
        elif operation == END_SEQUENCE:
            self.done[self.kernel] = sorted(self.lines, key=lambda line: line.address)
            self.reset()
        self.reader.at = after

    def standard(self, operation):
        reader = self.reader
        if operation == COPY:
            self.add()
        elif operation == ADVANCE_ADDRESS:
            self.address += reader.unsigned()
        elif operation == ADVANCE_LINE:
            self.line += reader.signed()
        elif operation == SET_FILE:
            self.file = reader.unsigned()
        elif operation == ADD_CONSTANT:
            self.address += (255 - self.first_special) // self.width
        elif operation == FIXED_ADVANCE:
            self.address += reader.number("H")
        else:
            for _ in range(self.operands[operation - 1]):
                reader.unsigned()


def lines_together(chains):
    """The lines that instructions lie in, in the function that holds most of them: "a.cu:3-9"."""
    depth, all_of_them = 0, len(chains)
    while True:
        calls = [tuple(c[: depth + 1]) for c in chains if len(c) > depth + 1]
        call = max(calls, key=calls.count, default=None)
        if call is None or calls.count(call) < 0.75 * all_of_them:
            break
        chains = [c for c in chains if len(c) > depth + 1 and tuple(c[: depth + 1]) == call]
        depth += 1
    places = [c[depth] for c in chains]
    files = [file for file, _ in places]
    file = max(sorted(set(files)), key=files.count)
    numbers = [line for of, line in places if of == file]
    return "%s:%d-%d" % (os.path.basename(file), min(numbers), max(numbers))


def finder(lines):
    """A function of the number of an instruction: its Line, or None."""
    addresses = [line.address for line in lines]

    def find(place):
        n = bisect.bisect_right(addresses, 16 * place)
        return lines[n - 1] if n else None

    return find


def lines_of(data, sections):
    """{kernel: a function of the number of an instruction, which gives its Line or None}.

    sections: [Section] of a cubin (sass.py)
    """
    found = {}
    for n, section in enumerate(sections):
        if section.name != ".debug_line":
            continue
        kernels = relocated(data, sections, n)
        reader = Reader(data, section.offset)
        while reader.at < section.offset + section.size:
            for kernel, lines in Program(reader).run(kernels.get).items():
                found[kernel] = finder(lines)
    return found


def relocated(data, sections, of):
    """{place in the file: kernel whose address belongs there} of a section."""
    found = {}
    for section in sections:
        if section.kind not in (REL, RELA) or section.info != of:
            continue
        symbols = sections[section.link]
        step = 16 if section.kind == REL else 24
        for at in range(section.offset, section.offset + section.size, step):
            place, info = struct.unpack_from("<QQ", data, at)
            symbol = symbols.offset + 24 * (info >> 32)
            text = sections[struct.unpack_from("<H", data, symbol + 6)[0]]
            found[sections[of].offset + place] = text.name[len(".text.") :]
    return found
