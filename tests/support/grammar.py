"""Which stacks a target can have, read from the comments in its source, and a judge that finds the impossible ones.

In a target:
    call()  # -> callee, other     on this line the function may be calling these ("*": anything outside the file)
    main()  # -> main  # root      a stack may begin here
A line without "->" calls nothing, so a frame on it can only be a leaf. For generated code:
    # rule: caller regex -> callee template
    # line: name regex within low .. high      (templates over the groups, arithmetic allowed)
    # file: name regex is template
"""
import ast
import collections
import pathlib
import re

_CALLS = re.compile(r"#\s*->\s*([^#]+)")
_RULE = re.compile(r"^# rule: (\S+) -> (\S+)$")
_LINE = re.compile(r"^# line: (\S+) within (\S+) \.\. (\S+)$")
_FILE = re.compile(r"^# file: (\S+) is (\S+)$")
_NAMELESS = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def _fill_in(template, match):
    """Replaces \\1 to \\9 and nothing else: the rest may be a regular expression."""
    return re.sub(r"\\([1-9])", lambda number: match.group(int(number.group(1))), template)


class Grammar:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        text = self.path.read_text()
        self._callees = {}     # line -> names
        self._roots = set()    # lines
        self._owner = {}       # line -> innermost function
        self._rules, self._lines, self._files = [], [], []
        self._read_comments(text.splitlines())
        self._read_functions(ast.parse(text), "<module>")
        self._by_function = collections.defaultdict(set)
        for line, names in self._callees.items():
            self._by_function[self._owner.get(line, "<module>")] |= names

    def _read_comments(self, lines):
        for number, line in enumerate(lines, 1):
            for pattern, into in ((_RULE, self._rules), (_LINE, self._lines), (_FILE, self._files)):
                match = pattern.match(line)
                if match:
                    into.append((re.compile(match.group(1) + r"\Z"), *match.groups()[1:]))
                    break
            else:
                match = _CALLS.search(line)
                if match:
                    self._callees[number] = {name.strip() for name in match.group(1).split(",")}
                if line.rstrip().endswith("# root"):
                    self._roots.add(number)

    def _read_functions(self, node, owner):
        for child in ast.iter_child_nodes(node):
            inside = owner
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = child.name
                for line in range(child.lineno, child.end_lineno + 1):
                    self._owner[line] = inside
            self._read_functions(child, inside)

    def _ours(self, frame):
        return pathlib.PurePath(frame.file).name == self.path.name

    def _generated(self, frame):
        rules = [*self._rules, *self._lines, *self._files]
        return not self._ours(frame) and any(rule[0].match(frame.plain) for rule in rules)

    def _bad_frame(self, frame):
        """Whether this frame contradicts itself."""
        if self._ours(frame) and frame.line and frame.plain not in _NAMELESS:
            owner = self._owner.get(frame.line, "<module>")
            if owner != frame.plain:
                return f"{frame.plain} at line {frame.line}, which belongs to {owner}"
        for pattern, low, high in self._lines:
            match = pattern.match(frame.plain)
            if match and frame.line:
                bounds = [eval(_fill_in(bound, match), {"__builtins__": {}}) for bound in (low, high)]
                if not bounds[0] <= frame.line <= bounds[1]:
                    return f"{frame.plain} at line {frame.line}, outside {bounds}"
        for pattern, template in self._files:
            match = pattern.match(frame.plain)
            if match and frame.file and frame.file != _fill_in(template, match):
                return f"{frame.plain} in file {frame.file}"
        return None

    def _may_call(self, caller, callee_name):
        if self._ours(caller):
            names = self._callees.get(caller.line, set()) if caller.line else self._by_function[caller.plain]
            if callee_name in names:
                return True
        for pattern, template in self._rules:
            match = pattern.match(caller.plain)
            if match and re.fullmatch(_fill_in(template, match), callee_name):
                return True
        return False

    def fault(self, stack):
        """What is impossible about a stack (outermost frame first), or None. A marker may stand for any frames."""
        caller = None
        outside = False
        for frame in stack:
            if frame.is_marker:
                caller, outside = None, True
                continue
            bad = self._bad_frame(frame)
            if bad:
                return bad
            known = self._ours(frame) or self._generated(frame)
            if not known:
                if caller is not None and not outside and not self._may_call(caller, "*"):
                    return f"{caller.plain}:{caller.line} -> {frame.name} in {frame.file}"
                outside = True
                continue
            if caller is None:
                headless = outside  # truncated, of code that is gone, or the beginning of a thread
                if not headless and frame.line not in self._roots and frame.line:
                    return f"a stack beginning at {frame.plain}:{frame.line}"
                if not headless and not frame.line and frame.plain != "<module>":
                    return f"a stack beginning at {frame.plain}"
            elif not self._may_call(caller, frame.plain):
                return f"{caller.plain}:{caller.line} -> {frame.plain}:{frame.line}"
            caller, outside = frame, False
        return None


class Tally:
    """Counts impossible stacks in weighted stacks."""

    def __init__(self, grammar):
        self.grammar = grammar
        self.total = self.truncated = self.impossible = 0
        self.faults = collections.Counter()

    def add(self, stack, weight=1):
        self.total += weight
        if any(frame.is_marker for frame in stack):
            self.truncated += weight
        fault = self.grammar.fault(stack)
        if fault:
            self.impossible += weight
            self.faults[fault] += weight

    def __str__(self):
        worst = "; ".join(f"{count}x {fault}" for fault, count in self.faults.most_common(5))
        return f"{self.impossible} impossible of {self.total} ({self.truncated} truncated){': ' + worst if worst else ''}"
