"""One leaf called from many places by several callers of the same shape and size: only the callers' lines differ."""
import signal
import sys
import pact


def shared():
    return None


def first():
    shared()  # -> shared
    shared()  # -> shared


def second():
    shared()  # -> shared
    third()  # -> third


def third():
    shared()  # -> shared


def only_first():
    first()  # -> first


def only_second():
    second()  # -> second


def alternate():
    pact.say("ready")  # -> *
    while True:
        only_first()  # -> only_first
        only_second()  # -> only_second
        third()  # -> third
        shared()  # -> shared


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root
