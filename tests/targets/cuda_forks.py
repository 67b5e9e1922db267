"""A job on the doubles of CUDA (tests/doubles/cuda) that launches all the time and forks. Each child checks whether it
has any shared memory of a profiler, and ends. Answers "ping" with "pong CHILDREN"; on "finish" it reports how many had.
On "child" it forks one that stays and says "child"; at SIGUSR1 that one says "calls N", its number of libcupti calls.
"""
import contextlib
import os
import signal
import threading
import pact
from cuda_libraries import open_cuda
from cuda_job import Model


def child():
    status = 1
    try:
        names = ""
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing
                names += os.readlink("/proc/self/fd/" + number)
        with open("/proc/self/maps") as maps:
            status = int("ptrace-prof-arena" in maps.read() + names)
    finally:
        os._exit(status)


def lasting_child(cuda):
    if os.fork() == 0:
        def end(*_):
            pact.say("calls", cuda.misuse()["calls_in_child"])
            os._exit(0)

        signal.signal(signal.SIGUSR1, end)
        pact.say("child")
        while True:
            sum(range(1000))


def main():
    cuda, done = open_cuda(os.environ.get("PP_CUDA_VERSION", "130001")), threading.Event()
    model = Model(cuda)
    counts = {"children": 0, "bad": 0}

    def work():
        while not done.is_set():
            model.step()
            pid = os.fork()
            if pid == 0:
                child()
            counts["children"] += 1
            counts["bad"] += os.waitpid(pid, 0)[1] != 0

    worker = threading.Thread(target=work)
    worker.start()
    pact.say("ready")
    while (word := pact.hear()) != "finish":
        if word == "child":
            lasting_child(cuda)
        else:
            pact.say("pong", counts["children"])
    done.set()
    worker.join()
    pact.say("bad", counts["bad"])


if __name__ == "__main__":
    main()
