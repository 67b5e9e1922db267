"""One thread after the other, while the main thread waits for each. Between two of them it answers "ping" with "pong"
and their count, and ends on "finish"."""
import select
import threading
import pact


def turns(number):
    return number if number < 2 else turns(number - 1) + turns(number - 2)


def main():
    pact.say("ready")
    word, count = "", 0
    while word != "finish":
        thread = threading.Thread(target=turns, args=(6,))
        thread.start()
        thread.join()
        count += 1
        if select.select([pact.descriptor()], [], [], 0)[0]:
            word = pact.hear()
            pact.say("pong", count)
    print("ended well")


main()
