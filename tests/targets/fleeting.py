"""Makes functions, calls each once and frees it, on two threads, so the next ones get the same addresses. The function
that each calls identifies it."""
import marshal
import threading
import time
import types
import pact


def mark_a():
    pass


def mark_b():
    pass


def mark_c():
    pass


MARKS = {"a": mark_a, "b": mark_b, "c": mark_c}
TEXT = "def made_{}(mark):\n    return mark()\n"


def code_of(letter):
    """The code as bytes, from which it is made again and again."""
    module = compile(TEXT.format(letter), letter, "exec")
    return marshal.dumps(next(one for one in module.co_consts if isinstance(one, types.CodeType)))


CODES = [(code_of(letter), mark) for letter, mark in MARKS.items()]


def make_and_call():
    for code, mark in CODES:
        types.FunctionType(marshal.loads(code), {})(mark)


def work():
    while not ending.is_set():
        for _ in range(30):
            make_and_call()
        time.sleep(0.002)


ending = threading.Event()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
pact.say("ready")
pact.hear()
ending.set()
for thread in threads:
    thread.join()
