"""A job that imports PyTorch only when it is asked to: `import` on the main thread, `beside` on another one while the
main thread works, `steps N` multiplies two matrices N times. Answers each with `done` and a number. With --at-once SECONDS it
asks nobody: it imports, multiplies for so long on three threads while the main thread calls functions, and says how
often."""
import sys
import threading
import time

import pact


def multiply_until(end, counts):
    import torch

    a = torch.ones(2, 2)
    count = 0
    with torch.no_grad():
        while time.monotonic() < end:
            torch.mm(a, a)
            count += 1
    counts.append(count)


def multiply(count):
    import torch

    with torch.no_grad():
        a = torch.ones(2, 2)
        for _ in range(count):
            torch.mm(a, a)


def work():
    return sum(range(20000))


def beside(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    while thread.is_alive():
        work()
        time.sleep(0.001)  # else the import would wait for the GIL most of the time
    thread.join()


def at_once(seconds):
    import torch

    counts = []
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=multiply_until, args=(end, counts)) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        work()
    print("ended well", torch.ones(2).sum().item(), sum(counts))


def main():
    if sys.argv[1:2] == ["--at-once"]:
        return at_once(float(sys.argv[2]))
    pact.say("ready")
    for words in pact.commands():
        if words[0] == "import":
            import torch  # noqa: F401
        elif words[0] == "beside":
            beside(multiply, 1)
        elif words[0] == "steps":
            multiply(int(words[1]))
        pact.say("done", "0.0")  # the version of PyTorch is not known yet
    print("ended well")


main()
