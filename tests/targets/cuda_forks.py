"""A job on the doubles of CUDA (tests/doubles/cuda) that launches all the time and forks: each child looks whether it has
anything of a profiler's shared memory, and ends. Answers "ping" with "pong CHILDREN"; on "finish" it says how many have.
"""
import contextlib
import os
import threading
import pact
from cuda_libraries import open_cuda
from cuda_job import Model


def child():
    status = 1
    try:
        names = ""
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # that of the listing
                names += os.readlink("/proc/self/fd/" + number)
        with open("/proc/self/maps") as maps:
            status = int("ptrace-prof-arena" in maps.read() + names)
    finally:
        os._exit(status)


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
    while pact.hear() == "ping":
        pact.say("pong", counts["children"])
    done.set()
    worker.join()
    pact.say("bad", counts["bad"])


if __name__ == "__main__":
    main()
