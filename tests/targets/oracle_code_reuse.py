"""Functions compiled anew all the time, so that the memory of dead code objects is used again by others.

The N-th pair is on lines 10 N and following of <churn-N>. A name, a line and a file that do not belong together show
that something was read from memory that had changed.
"""
# rule: churn -> outer_(\d+)
# rule: outer_(\d+) -> inner_\1
# line: (?:outer|inner)_(\d+) within 10*\1 .. 10*\1+9
# file: (?:outer|inner)_(\d+) is <churn-\1>
import signal
import sys
import pact

SOURCE = """def inner_{0}(steps):
    total = 0
    for step in range(steps):
        total += step
    return total
def outer_{0}(steps):
    return inner_{0}(steps) + inner_{0}(steps)
"""


def compiled(number):
    names = {}
    exec(compile("\n" * (10 * number - 1) + SOURCE.format(number), "<churn-%d>" % number, "exec"), names)  # -> *
    return names["outer_%d" % number]


def churn():
    pact.say("ready")  # -> *
    number = 0
    while True:
        number = number % 97 + 1
        function = compiled(number)  # -> compiled
        function(300)
        del function


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
churn()  # -> churn  # root
