"""Waits in a coroutine below two awaits, an async generator and the event loop."""
import asyncio
import pact


async def leaf():
    pact.say("ready")
    pact.hear()  # line: wait
    return 1


async def numbers():
    yield await leaf()  # line: numbers


async def middle():
    async for number in numbers():  # line: middle
        return number


async def top():
    await asyncio.sleep(0)
    return await middle()  # line: top


asyncio.run(top())  # line: main
