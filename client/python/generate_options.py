"""Generates the keywords of a capture as types, from the table of options beside the fields of CaptureSpec.

Called by the build (setup.py), which puts the result into the package as _capture_options.py; it is never committed.
"""
import importlib.util
import re
import textwrap

_TYPES = {"SWITCH": "bool", "COUNT": "Optional[int]", "SIZE": "Optional[int]", "TIME": "Optional[float]",
          "RATE": "Optional[float]", "SHARE": "Optional[float]", "GLOBS": "Iterable[str]", "IDS": "Iterable[int]",
          "SCHEDULE": "Optional[StepSchedule]", "PAIRS": "Mapping[str, str]"}
_UNITS = {"TIME": "In seconds.", "SIZE": "In bytes."}
_HEAD = '''"""The options of a capture, generated from the table of options beside CaptureSpec."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Optional

from typing_extensions import Literal, TypedDict


class StepSchedule(TypedDict, total=False):
    """torch.profiler.schedule: which steps of a training job are recorded; all but `active` may be left out (0).

    `skip_first` steps, then `repeat` times (0: for ever) `wait` and `warmup` steps that are not recorded and `active`
    ones that are. If `skip_first_wait` is not 0, the first cycle has no `wait`.
    """

    skip_first: int
    wait: int
    warmup: int
    active: int
    repeat: int
    skip_first_wait: int


class CaptureOptions(TypedDict, total=False):
    """Keywords of record(), create_capture() and samples(); all are optional; None means not given.

'''


def _load(path):
    """Loads a generated module outside of its package, which registers its extensions for descriptors."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keyword_of(name, option):
    """Returns the keyword of a field, or None, and whether it means the opposite of the field."""
    keyword = option.keyword or name
    if keyword == "-":
        return None, False
    return keyword.removeprefix("not "), keyword.startswith("not ")


def _comments(file):
    """Returns {path of a descriptor: the comment before it, or after it on its line}."""
    return {tuple(place.path): " ".join((place.leading_comments or place.trailing_comments).split())
            for place in file.source_code_info.location}


def _choices(option_name, enum):
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", enum.name).upper() + "_"
    words = [value.name.removeprefix(prefix).lower() for value in enum.value if value.number]
    return (["off"] if option_name == "gpu" else []) + words


def _rows(file, extension):
    """Yields (keyword, type, kind, option, comment) of each field with a keyword, in the order of the message."""
    comments = _comments(file)
    messages = {f".{file.package}.{message.name}": (index, message) for index, message in
                enumerate(file.message_type)}
    enums = {f".{file.package}.{enum.name}": enum for enum in file.enum_type}

    def walk(name):
        index, message = messages[name]
        for number, field in enumerate(message.field):
            option = field.options.Extensions[extension]
            keyword, _ = keyword_of(field.name, option)
            kind = option.Kind.Name(option.kind)
            if option.kind and keyword:
                choices = _choices(field.name, enums[field.type_name]) if kind == "CHOICE" else ()
                yield (keyword, f"Literal[{', '.join(map(repr, choices))}]".replace("'", '"') if choices else
                       _TYPES[kind], kind, option, comments.get((4, index, 2, number), "") or option.help)
            if field.type_name in messages and kind != "SCHEDULE":
                yield from walk(field.type_name)

    yield from walk(f".{file.package}.CaptureSpec")


def generate(descriptors, option_module):
    """Returns the text of _capture_options.py.

    descriptors: file of a FileDescriptorSet with comments. option_module: file of the module of option.proto.
    """
    from google.protobuf import descriptor_pb2

    extension = _load(option_module).option
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes()).file
    file = next(one for one in files if one.name == "ptraceprof/v1/capture.proto")
    fields, texts = {}, {}
    for keyword, type_, kind, option, comment in _rows(file, extension):
        fields[keyword] = type_
        notes = [comment.replace("`", "").replace("\\", "\\\\"), _UNITS.get(kind, "")]
        if option.unlimited:
            notes.append(f"math.inf: {option.unlimited}.")
        if option.keyword.startswith("not "):
            notes = [f"False: {option.help or comment}"]
        texts.setdefault(keyword, []).append(" ".join(filter(None, notes)))
    lines = []
    for keyword, said in texts.items():
        lines += textwrap.wrap(f"{keyword}: {' '.join(said)}", 112, initial_indent="    ",
                               subsequent_indent="        ")
    lines += ['    """', ""]
    lines += [f"    {keyword}: {type_}" for keyword, type_ in fields.items()]
    return _HEAD + "\n".join(lines) + "\n"
