"""Names beyond ASCII: the file, functions in Latin-1, Cyrillic and beyond the BMP-free identifiers, a thread's name."""
import threading
import pact


def кириллица():
    pact.say("ready")
    pact.hear()  # line: wait


def naïve():
    кириллица()  # line: naïve


class Größe:
    def метод(self):
        naïve()  # line: метод


def 𝓼tart():
    Größe().метод()  # line: start


thread = threading.Thread(target=𝓼tart, name="нить-😀")
thread.start()
thread.join()
