"""What the machine has: processor, cores, memory, disk, and whether it counts instructions."""
import os
import platform
import re
import shutil
import subprocess


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine() or "unknown processor"


def cores():
    return len(os.sched_getaffinity(0))


def memory_available():
    """Bytes that programs may take now."""
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def disk_free(folder):
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    return shutil.disk_usage(folder).free


def gigabytes(count):
    return f"{count / 1e9:.1f} GB"


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def kind(vertices):
    """Records are compared on one kind of machine and one size of graph alone."""
    return slug(f"{processor()} {cores()} cores {vertices} vertices")


def instructions_counted():
    """Empty where `perf stat -e instructions:u` counts; otherwise why it does not."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    try:
        done = subprocess.run(["perf", "stat", "-x", ",", "-e", "instructions:u", "true"],
                              capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"perf does not run: {error}"
    if instructions_of(done.stderr) is None:
        return "this machine does not count instructions (perf stat -e instructions:u)"
    return ""


def instructions_of(text):
    """The count in what `perf stat -x ,` wrote."""
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("instructions") and fields[0].isdigit():
            return int(fields[0])
    return None
