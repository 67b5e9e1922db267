"""Works in one of several ways, answers "ping" with "pong" and "hooks" with hooks.py's values, and checks at its end
whether anything was left in it. Argument: busy, alarms (a signal handler raises all the time: a function, method,
partial or object, the second argument), threads, sleeping (main waits for messages, 4 workers), idle (all wait),
asyncio, or forks.
"""
import functools
import itertools
import json
import os
import select
import signal
import sys
import threading
import time
import pact
from hooks import hooks

stopping = False


def add(number):
    return number + 1


def count(limit=1000):
    number = 0
    while number < limit:
        number = add(number)
    return number


def work():
    while not stopping:
        count()


def open_files():
    """The targets of the descriptors, without that of the listing itself."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink("/proc/self/fd/" + number))
        except OSError:
            pass
    # A thread of ours that ends may be loading it at this moment (glibc's pthread_exit).
    return sorted(name for name in found if "libgcc_s" not in name)


def state():
    """State that must be the same afterwards."""
    monitoring = getattr(sys, "monitoring", None)
    return {
        "names": sorted(vars(sys.modules["__main__"])),
        "modules": sorted(sys.modules),
        "files": open_files() if os.path.isdir("/proc/self/fd") else [],
        "profile": sys.getprofile(),
        "trace": sys.gettrace(),
        "tools": [monitoring.get_tool(tool) for tool in range(6)] if monitoring else [],
        "errors": [name for name in ("last_type", "last_value", "last_exc") if hasattr(sys, name)],
    }


def leave_strays():
    """Makes the files that waiting texts make if they run after their collector was killed."""
    for number in range(6):
        os.memfd_create(f"ptrace-prof-stub.{number}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def answer():
    """False when it is time to end."""
    word = pact.hear()
    if word == "strays":
        leave_strays()
    if word == "hooks":
        pact.say("hooks", json.dumps(hooks()))
        return True
    if word in ("ping", "strays"):
        pact.say("pong")
        return True
    return False


def asked():
    return bool(select.select([pact.descriptor()], [], [], 0)[0])


def busy():
    while True:
        count()
        if asked() and not answer():
            return


def sleeping():
    while answer():
        pass


def forks():
    while True:
        child = os.fork()
        if child == 0:
            good = count(20000) == 20000
            os._exit(0 if good else 1)
        count()
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit("a child ended badly")
        if asked() and not answer():
            return


class Alarm(Exception):
    pass


def on_alarm(*_):
    raise Alarm


class Handler:
    def __call__(self, *_):
        raise Alarm

    def method(self, *_):
        raise Alarm


HANDLERS = {"function": on_alarm, "method": Handler().method, "partial": functools.partial(on_alarm, 1),
            "object": Handler()}


def until_alarm(seconds):
    begin = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while time.monotonic() < begin + 20:
        count(50)


def alarms():
    """Each signal must end the loop that it was set for, once."""
    for seconds in itertools.cycle((0.00005, 0.0001, 0.0003, 0.003)):
        try:
            until_alarm(seconds)
            raise SystemExit("a signal was lost")
        except Alarm:
            pass
        if asked() and not answer():
            return


def in_event_loop():
    import asyncio

    async def main():
        over = asyncio.Event()
        asyncio.get_running_loop().add_reader(pact.descriptor(), lambda: answer() or over.set())

        async def task():
            while not over.is_set():
                count(100)
                await asyncio.sleep(0.0005)

        await asyncio.gather(*(task() for _ in range(4)))
        asyncio.get_running_loop().remove_reader(pact.descriptor())

    asyncio.run(main())


def run(mode):
    threads = [threading.Thread(target=work) for _ in range({"threads": 8, "sleeping": 4}.get(mode, 0))]
    for thread in threads:
        thread.start()
    {"sleeping": sleeping, "idle": sleeping, "alarms": alarms, "asyncio": in_event_loop, "forks": forks}.get(mode, busy)()
    global stopping
    stopping = True
    for thread in threads:
        thread.join()


def main():
    mode = sys.argv[1]
    if mode == "asyncio":
        import asyncio  # noqa: F401
        asyncio.run(asyncio.sleep(0))
    if mode == "alarms":
        signal.signal(signal.SIGALRM, HANDLERS[sys.argv[2] if len(sys.argv) > 2 else "function"])
    before = state()
    pact.say("ready")
    run(mode)
    for _ in range(100):  # a thread that was joined may still be ending: up to 3.10 it loads libgcc_s then
        after = state()
        if after == before:
            break
        time.sleep(0.01)
    for name, value in before.items():
        if after[name] != value:
            print(name, "changed from", value, "to", after[name])
    print("ended well")


main()
