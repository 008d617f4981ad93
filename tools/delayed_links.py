#!/usr/bin/env python3
"""Joins nodes by links that take time: a switch between TUN devices, for cluster_in_a_box.

    tools/delayed_links.py --devices a,b,… --delay-us D --gbits G

Makes the devices in the network namespace in which it runs (they may be moved to others), prints
"ready", and until it is killed forwards each IPv4 packet of 10.77.0.0/24 to device n for address
10.77.0.n, no earlier than D microseconds after it was read. A device receives G Gbit/s; what would
wait there for more than 100 ms is dropped. Speed on the way in is the business of a queue of tc.
"""

import argparse
import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LONGEST = 65535  # of a packet, bytes
LONGEST_WAIT = 100_000_000  # for a device that receives other packets, ns


class Device:
    """One end of a link, and the packets that are under way to it, first the next one."""

    def __init__(self, name, ns_per_byte):
        self.ns_per_byte = ns_per_byte
        self.free_at = 0  # when it has received all that is under way to it
        self.packets = collections.deque()  # (when it has arrived, the packet)
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI)
        fcntl.ioctl(self.fd, TUNSETIFF, request)

    def send(self, packet, arrival):
        if self.free_at > arrival + LONGEST_WAIT:
            return
        self.free_at = max(self.free_at, arrival) + int(len(packet) * self.ns_per_byte)
        self.packets.append((max(arrival, self.free_at), packet))

    def deliver(self, now):
        while self.packets and self.packets[0][0] <= now:
            packet = self.packets.popleft()[1]
            try:
                os.write(self.fd, packet)
            except OSError:
                pass  # the device is down: the packet is lost, as on a cable

    def read(self):
        """The next packet; None if there is none."""
        try:
            return os.read(self.fd, LONGEST)
        except OSError:
            return None


def be_on_time():
    """Lets this process run as soon as a packet is due, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        slack = 29  # PR_SET_TIMERSLACK
        ctypes.CDLL(None).prctl(slack, 1, 0, 0, 0)


def target(packet, devices):
    """The device of a packet; None for one of IPv6, of many receivers or of no node."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[16:19] != b"\x0a\x4d\x00":
        return None
    return devices.get(packet[19])


def forward(devices, delay):
    of_fd = {device.fd: device for device in devices.values()}
    while True:
        due = min((d.packets[0][0] for d in of_fd.values() if d.packets), default=None)
        wait = None if due is None else max(0, due - time.monotonic_ns()) / 1e9
        for fd in select.select(list(of_fd), [], [], wait)[0]:
            packet = of_fd[fd].read()
            device = packet and target(packet, devices)
            if device:
                device.send(packet, time.monotonic_ns() + delay)
        now = time.monotonic_ns()
        for device in of_fd.values():
            device.deliver(now)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", required=True)
    parser.add_argument("--delay-us", type=int, required=True)
    parser.add_argument("--gbits", type=float, required=True)
    args = parser.parse_args()
    names = args.devices.split(",")
    try:
        devices = {n: Device(name, 8 / args.gbits) for n, name in enumerate(names, 1)}
    except OSError as error:
        sys.exit(f"delayed_links: /dev/net/tun: {error.strerror}")
    be_on_time()
    print("ready", flush=True)
    forward(devices, args.delay_us * 1000)


if __name__ == "__main__":
    main()
