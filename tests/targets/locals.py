"""Two waiting frames with variables of every kind."""
import pact


def outer(first, /, second, *rest, key="default", **more):
    cell = [1, "two"]
    gone = 1
    del gone

    def inner(argument):
        half = argument + 0.5
        nothing = None
        pact.say("ready")
        pact.hear()
        return half, nothing, cell, second, gone  # noqa: F821

    return inner(41)


outer("a\n", 2.5, 3, b"4", key=(True, -1), extra={"q": "ключ"})
