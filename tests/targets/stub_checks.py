"""The checks of the tracer stub that run inside an interpreter; each says "good NAME" or "bad NAME\n what".

argv: names of the checks to run (default: all). They run one after the other in one process, so that all but the first
re-attach to the resident stub.
"""
import sys
import traceback

import pact
import stub_checks_capture
import stub_checks_events
import stub_checks_freed
import stub_checks_mutes
import stub_checks_threads
import stub_checks_waits
from stub_collector import Capture, Stub, told_layout

pact.say("ready")
STUB = Stub(told_layout())
CHECKS = {name: check for module in (stub_checks_events, stub_checks_threads, stub_checks_mutes, stub_checks_freed,
                                             stub_checks_waits, stub_checks_capture)
          for name, check in vars(module).items() if name.startswith("check_")}
for _name in sys.argv[1:] or list(CHECKS):
    try:
        CHECKS[_name](STUB)
        pact.say("good", _name)
    except BaseException:
        pact.say("bad", _name + "\n" + traceback.format_exc()[-3000:])
pact.say("done")
Capture(STUB).__enter__()  # the interpreter ends during a capture
