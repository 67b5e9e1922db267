"""Two methods and a nested function that share the name `run` and differ in their qualified names (3.11 and later)."""
import threading
import pact

release = threading.Event()


class Foo:
    def run(self):
        release.wait()


class Bar:
    class Inner:
        def run(self):
            release.wait()


def factory():
    def run():
        release.wait()
    return run


threads = [threading.Thread(target=Foo().run, name="foo"), threading.Thread(target=Bar.Inner().run, name="bar"),
           threading.Thread(target=factory(), name="nested")]
for thread in threads:
    thread.start()
pact.say("ready")
pact.hear()
release.set()
