"""A fixed amount of deterministic work whose output shows whether anything disturbed it. Argument: rounds."""
import hashlib
import sys
import pact


def digest(state, number):
    return hashlib.sha256(state + number.to_bytes(8, "little")).digest()


def one_round(state, number):
    for step in range(200):
        state = digest(state, number * 1000 + step)
    return state


def main():
    state = b""
    pact.say("ready")
    for number in range(int(sys.argv[1])):
        state = one_round(state, number)
        if number % 100 == 0:
            print(number, state.hex(), flush=True)
    print("end", state.hex())


main()
