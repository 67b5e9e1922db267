"""The main thread waits in one place for as long as it is asked to."""
import pact


def longsleep():
    pact.say("ready")
    pact.hear()  # line: wait


def main():
    longsleep()  # line: call
    print("longsleep ended well")


main()  # line: main
