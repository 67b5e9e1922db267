"""Tasks that take turns on an event loop: coroutine frames are entered by the loop's own code and by awaits."""
import asyncio
import signal
import sys
import pact


async def leaf_a():
    await asyncio.sleep(0)  # -> *


async def leaf_b():
    await asyncio.sleep(0)  # -> *


async def awaits_a():
    await leaf_a()  # -> leaf_a


async def awaits_b():
    await leaf_b()  # -> leaf_b


async def task_a():
    while True:
        await awaits_a()  # -> awaits_a


async def task_b():
    while True:
        await awaits_b()  # -> awaits_b


async def everything():
    pact.say("ready")  # -> *
    await asyncio.gather(task_a(), task_b())  # -> *


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
asyncio.run(everything())  # -> everything, task_a, task_b, *  # root
