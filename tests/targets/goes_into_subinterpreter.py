"""One thread enters a subinterpreter again and again and works there, in `inner`; then a little outside, in `own`."""
import pact

CODE = """
def inner():
    total = 0
    for number in range(400000):
        total += number
"""


def runner():
    try:
        import _interpreters as module  # 3.13 and later
    except ImportError:
        import _xxsubinterpreters as module
    identity = module.create()
    run = module.exec if hasattr(module, "exec") else module.run_string
    run(identity, CODE)
    return lambda: run(identity, "inner()")


def own():
    for _ in range(20000):
        pass


def outer(run):
    run()


def main():
    run = runner()
    pact.say("ready")
    while True:
        outer(run)
        own()


main()
