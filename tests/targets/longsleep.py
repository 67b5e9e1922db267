"""The main thread waits in one place until a message comes."""
import pact


def longsleep():
    pact.say("ready")
    pact.hear()  # line: wait


def main():
    longsleep()  # line: call
    print("longsleep ended well")


main()  # line: main
