"""The main thread works in `the_main_thread`, another in `the_worker`; N others, begun between the two, wait."""
import select
import sys
import threading
import pact

threading.stack_size(1 << 16)
for_ever = threading.Event()


def work_until_told():
    while True:
        sum(range(1000))


def the_worker():
    work_until_told()


def the_main_thread():
    while not select.select([pact.descriptor()], [], [], 0)[0]:
        sum(range(100000))


for number in range(int(sys.argv[1])):
    threading.Thread(target=for_ever.wait, daemon=True).start()
threading.Thread(target=the_worker, name="worker", daemon=True).start()
pact.say("ready")
the_main_thread()
