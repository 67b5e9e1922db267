"""A terminal in memory: reads what a program writes to an xterm, and keeps the screen that results.

It implements the part of xterm that terminfo's "xterm-256color" makes a program use, and raises on anything else, so
that nothing is overlooked. `alternate`: the program has taken the whole screen; `plain`: all modes are reset again.
"""
import codecs
import re

TYPE = "xterm-256color"
_CSI = re.compile(r"\x1b\[([?>]?)([\d;]*)([@A-Za-z`])")
_OTHER = re.compile(r"\x1b(?:[78=>McDE]|[()][0-9A-Z]|\]104\x07)")  # the last one resets the colours
_BEGUN = re.compile(r"\x1b(?:\[[?>]?[\d;]*|[()]|\]1?0?4?)?")
_MODES_AT_START = {7, 25}  # lines wrap, the cursor is visible
_IGNORED_FINALS = "mtnc"  # colours; window titles; questions


class VirtualTerminal:
    def __init__(self, rows, columns):
        self.alternate = False
        self.modes = set(_MODES_AT_START)  # DEC private modes that are set
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._saved = None
        self._last = " "
        self.raw = ""  # everything that came
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self._clear()

    def _clear(self):
        self._cells = [[" "] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0
        self._top, self._bottom = 0, self.rows - 1

    def lines(self):
        return ["".join(row).rstrip() for row in self._cells]

    def text(self):
        return "\n".join(self.lines())

    @property
    def plain(self):
        """Whether nothing of a full-screen program is left: normal screen, visible cursor, normal keys."""
        return not self.alternate and self.modes == _MODES_AT_START

    def feed(self, data):
        new = self._decoder.decode(data)
        self.raw += new
        text, self._pending = self._pending + new, ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._character(text[at])
                at += 1
                continue
            match = _CSI.match(text, at) or _OTHER.match(text, at)
            next_one = text.find("\x1b", at + 1)
            if not match and next_one > 0 and _BEGUN.fullmatch(text, at, next_one):
                at = next_one  # cut short: the kernel discards pending output when Ctrl-Z is pressed
                continue
            if not match:
                if len(text) - at < 40:  # the rest has not come yet
                    self._pending = text[at:]
                    return
                raise AssertionError(f"the terminal does not know {text[at:at + 20]!r}")
            at = match.end()
            if match.re is _CSI:
                self._control(*match.groups())
            elif match.group() == "\x1bM":
                self._reverse_index()

    def _character(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._index()
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character == "\t":
            self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)
        elif character >= " ":
            self._put(character)

    def _put(self, character):
        if self.column >= self.columns:
            self.column = 0
            self._index()
        self._cells[self.row][self.column] = self._last = character
        self.column += 1

    def _index(self):
        if self.row == self._bottom:
            self._scroll(1)
        else:
            self.row = min(self.rows - 1, self.row + 1)

    def _reverse_index(self):
        if self.row == self._top:
            self._scroll(-1)
        else:
            self.row = max(0, self.row - 1)

    def _scroll(self, lines, top=None):
        """Scrolls up or down by so many lines, from `top` to the end of the region."""
        top = self._top if top is None else top
        region = self._cells[top:self._bottom + 1]
        blank = [[" "] * self.columns for _ in range(min(abs(lines), len(region)))]
        region = region[lines:] + blank if lines > 0 else blank + region[:lines]
        self._cells[top:self._bottom + 1] = region[:self._bottom + 1 - top]

    def _control(self, private, parameters, final):
        numbers = [int(number or 0) for number in parameters.split(";")]
        if private == "?":
            self._mode(numbers, final)
        elif not private and final not in _IGNORED_FINALS and not self._move(final, numbers):
            self._edit(final, numbers)

    def _mode(self, numbers, final):
        for number in numbers:
            if number in (47, 1047, 1049):
                self.alternate = final == "h"
                self._clear()
            elif final == "h":
                self.modes.add(number)
            elif final == "l":
                self.modes.discard(number)

    def _move(self, final, numbers):
        count = max(1, numbers[0])
        row, column = self.row, min(self.column, self.columns - 1)
        if final in "Hf":
            row, column = count - 1, (max(1, numbers[1]) if len(numbers) > 1 else 1) - 1
        elif final in "ABCD":
            row += {"A": -count, "B": count}.get(final, 0)
            column += {"C": count, "D": -count}.get(final, 0)
        elif final in "G`":
            column = count - 1
        elif final == "d":
            row = count - 1
        elif final == "Z":
            column = max(0, (column - 1) // 8 * 8)
        else:
            return False
        self.row, self.column = max(0, min(row, self.rows - 1)), max(0, min(column, self.columns - 1))
        return True

    def _edit(self, final, numbers):
        count, line = max(1, numbers[0]), self._cells[self.row]
        if final == "J":
            self._erase_screen(numbers[0])
        elif final == "K":
            begin, end = ((self.column, self.columns), (0, self.column + 1), (0, self.columns))[numbers[0]]
            line[begin:end] = [" "] * (min(end, self.columns) - begin)
        elif final == "X":
            end = min(self.columns, self.column + count)
            line[self.column:end] = [" "] * (end - self.column)
        elif final == "P":
            del line[self.column:self.column + count]
            line.extend([" "] * (self.columns - len(line)))
        elif final == "@":
            line[self.column:self.column] = [" "] * count
            del line[self.columns:]
        elif final == "b":
            for _ in range(count):
                self._put(self._last)
        elif final in "LM":
            self._scroll(-count if final == "L" else count, self.row)
        elif final in "ST":
            self._scroll(count if final == "S" else -count)
        elif final == "r":
            self._top, self._bottom = (numbers + [0])[0] or 1, (numbers + [0])[1] or self.rows
            self._top, self._bottom = self._top - 1, self._bottom - 1
            self.row = self.column = 0
        elif final not in "hl":
            raise AssertionError(f"the terminal does not know CSI {numbers} {final}")

    def _erase_screen(self, which):
        blank = [" "] * self.columns
        if which == 0:
            self._cells[self.row][self.column:] = blank[self.column:]
            begin, end = self.row + 1, self.rows
        else:
            begin, end = 0, self.rows if which == 2 else self.row
        for row in range(begin, end):
            self._cells[row] = list(blank)
