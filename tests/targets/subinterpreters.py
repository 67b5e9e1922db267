"""The main interpreter waits in one thread; subinterpreters wait in others. Argument: legacy or isolated.

Says "supported" or "unsupported WHY" after "ready".
"""
import sys
import threading
import pact

WAIT = """
import os
def sub_wait_%d():
    os.write(%d, b"x")
    os.read(%d, 1)
sub_wait_%d()
"""


def maker(kind):
    """A function that runs source in a new interpreter, or why there is none."""
    try:
        import _interpreters as module  # 3.13 and later
    except ImportError:
        try:
            import _xxsubinterpreters as module
        except ImportError:
            return None, "no module for subinterpreters"
    isolated = kind == "isolated"
    if module.__name__ == "_interpreters":
        configuration = "isolated" if isolated else "legacy"
        return (lambda: module.create(configuration)), module
    if isolated and sys.version_info < (3, 12):
        return None, "isolated interpreters begin with 3.12"
    if sys.version_info < (3, 9):
        return module.create, module
    return (lambda: module.create(isolated=isolated)), module


def main_wait():
    pact.hear()


def main():
    import os
    create, module = maker(sys.argv[1])
    if create is None:
        pact.say("ready")
        pact.say("unsupported", module)
        pact.hear()
        return
    arrived, arrive = os.pipe()
    release, _ = os.pipe()
    for number in range(2):
        identity = create()
        source = WAIT % (number, arrive, release, number)
        threading.Thread(target=module.run_string, args=(identity, source), name="sub-%d" % number).start()
    for _ in range(2):
        os.read(arrived, 1)
    pact.say("ready")
    pact.say("supported", module.__name__)
    main_wait()
    print("subinterpreters ended well", flush=True)
    os._exit(0)  # 3.11 does not always leave them in an orderly state


main()
