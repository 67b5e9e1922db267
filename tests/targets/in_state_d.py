"""A thread waits uninterruptibly (state D): posix_spawn waits for a child that cannot exec yet. Another works.

Reports the named pipe that lets the child go on, and `spawned` when it has.
"""
import ctypes
import os
import sys
import tempfile
import threading
import time

import pact


def spawner(fifo):
    libc = ctypes.CDLL(None, use_errno=True)
    actions = ctypes.create_string_buffer(256)
    libc.posix_spawn_file_actions_init(actions)
    libc.posix_spawn_file_actions_addopen(actions, 9, fifo.encode(), os.O_RDONLY, 0)
    program = sys.executable.encode()
    arguments = (ctypes.c_char_p * 4)(program, b"-c", b"pass", None)
    pid = ctypes.c_int()
    failure = libc.posix_spawn(ctypes.byref(pid), program, actions, None, arguments, None)
    pact.say("spawned" if failure == 0 and os.waitpid(pid.value, 0)[1] == 0 else f"failed {failure}")


def state(tid):
    with open(f"/proc/self/task/{tid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def beat():
    time.sleep(0.001)


def main():
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        thread = threading.Thread(target=spawner, args=(fifo,), daemon=True)
        thread.start()
        while state(thread.native_id) != "D":
            time.sleep(0.001)
        pact.say("ready")
        pact.say("waits", fifo)
        while thread.is_alive():
            beat()
        pact.hear()


main()
