"""The machine and the time of a measurement, which a reader needs to judge the numbers."""
import os
import platform
import subprocess
import time


def _cpu_model():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit(repository):
    done = subprocess.run(["git", "-C", str(repository), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "?"


def busy_share():
    """The share of all cores that was busy in the last half second: other load on the machine distorts every number."""
    def ticks():
        with open("/proc/stat") as file:
            words = [int(word) for word in file.readline().split()[1:9]]
        return sum(words), words[3] + words[4]
    total, idle = ticks()
    time.sleep(0.5)
    later_total, later_idle = ticks()
    return 1 - (later_idle - idle) / max(1, later_total - total)


def facts(repository):
    return [
        ("date", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())),
        ("processor", f"{_cpu_model()}, {os.cpu_count()} cores"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("tree", _commit(repository)),
        ("busy before the start", f"{100 * busy_share():.0f} % of the machine"),
    ]
