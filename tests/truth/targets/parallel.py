"""Threads that run at the same time if there is no GIL. Each has its own function with call sites of short callees."""
import json
import threading

from own_time import clock, pact

SOURCE = """
def small_{index}(amount):
    total = 0
    for number in range(amount):
        total += number

def busy_{index}():
    while True:
        small_{index}(20)
        small_{index}(60)
        small_{index}(20)
        small_{index}(40)
"""
began = clock()
for index in range(2):
    exec(compile(SOURCE.format(index=index), "parallel", "exec"), globals())
    threading.Thread(target=globals()[f"busy_{index}"], daemon=True).start()
pact.say("ready")
while pact.hear() == "clock":
    passed = clock() - began
    pact.say("clock", json.dumps({"spent": {f"busy_{index}": passed for index in range(2)}, "all": 3 * passed}))
