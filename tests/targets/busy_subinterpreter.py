"""Calls functions in the main interpreter, and others in a subinterpreter on a thread. Argument: legacy or isolated.

Says "supported" or "unsupported WHY" after "ready"; answers "ping" with "pong".
"""
import os
import select
import sys
import threading

import pact

WORK = """
import os
def sub_leaf(number):
    return number + 1
def sub_work(arrived, over):
    os.write(arrived, b"x")
    while True:
        for number in range(100):
            sub_leaf(number)
        try:
            os.read(over, 1)
            return
        except BlockingIOError:
            pass
sub_work(%d, %d)
"""


def maker(kind):
    """(create, module), or (None, why there is none)"""
    try:
        import _interpreters as module  # 3.13 and later
        return (lambda: module.create(kind)), module
    except ImportError:
        try:
            import _xxsubinterpreters as module
        except ImportError:
            return None, "no module for subinterpreters"
    if kind == "isolated" and sys.version_info < (3, 12):
        return None, "isolated interpreters begin with 3.12"
    return (module.create if sys.version_info < (3, 9) else lambda: module.create(isolated=kind == "isolated")), module


def main_leaf(number):
    return number + 1


def main_work():
    for number in range(100):
        main_leaf(number)


def work():
    while True:
        main_work()
        if select.select([pact.descriptor()], [], [], 0.0001)[0]:
            if pact.hear() != "ping":
                break
            pact.say("pong")


def main():
    create, module = maker(sys.argv[1])
    pact.say("ready")
    if create is None:
        pact.say("unsupported", module)
        pact.hear()
        return
    arrived, arrive = os.pipe()
    over, end = os.pipe()
    os.set_blocking(over, False)
    identity = create()  # kept, as 3.11 does not always end one in an orderly way
    thread = threading.Thread(target=module.run_string, args=(identity, WORK % (arrive, over)), name="sub")
    thread.start()
    os.read(arrived, 1)
    pact.say("supported")
    work()
    os.write(end, b"x")
    thread.join()
    print("ended well", flush=True)
    os._exit(0)


main()
