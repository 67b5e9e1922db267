"""A job in which no thread of the main interpreter reaches a point where a tracer can get in. Runs until it is killed.

Argument: subinterpreter (all Python runs in one), loop (main waits, another thread loops without a call), waits.
"""
import threading
import sys
import pact


def run_in_subinterpreter():
    try:
        import _interpreters as interpreters  # 3.13 and later
    except ImportError:
        import _xxsubinterpreters as interpreters
    run = getattr(interpreters, "exec", None) or interpreters.run_string
    run(interpreters.create(), "def work(): return sum(range(1000))\nwhile True: work()")


def loop():
    number = 0
    while True:
        number += 1


def wait_beside_a_loop():
    threading.Thread(target=loop, daemon=True).start()
    pact.hear()


pact.say("ready")
{"subinterpreter": run_in_subinterpreter, "loop": wait_beside_a_loop, "waits": pact.hear}[sys.argv[1]]()
