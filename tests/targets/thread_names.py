"""Ten threads with names of their own, all waiting."""
import threading
import pact

release = threading.Event()


def wait():
    release.wait()


threads = [threading.Thread(target=wait, name="CustomThreadName-%d" % number) for number in range(10)]
for thread in threads:
    thread.start()
pact.say("ready")
while pact.hear() == "rename":
    threads[0].name = "Renamed"
    pact.say("renamed")
release.set()
for thread in threads:
    thread.join()
