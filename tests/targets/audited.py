"""Lists the scripts that a debugger had it run (3.14 and later), and answers "look" with that list."""
import select
import sys
import pact

scripts = []


def on_event(event, arguments):
    if event == "cpython.remote_debugger_script":
        scripts.append(arguments[0])


def work():
    return sum(number for number in range(100))


def main():
    sys.addaudithook(on_event)
    pact.say("ready")
    while True:
        work()
        if select.select([pact.descriptor()], [], [], 0)[0]:
            if pact.hear() != "look":
                return
            pact.say("seen", *scripts)


main()
