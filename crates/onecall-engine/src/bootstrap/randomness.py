"""Replaces the random numbers of a journalled program by those that its seed determines."""

import functools
import hashlib
import os
import random
import sys
import uuid

import _onecall_observations as observations

# The seed of the run, and how often bytes were taken from it.
_seed = b""
_taken = 0

_seed_generator = random.Random.seed
_getrandom = getattr(os, "getrandom", None)


def begin(seed):
    """Makes everything random depend on the seed of the run."""
    global _seed
    _seed = seed
    os.urandom = random._urandom = random_bytes
    if _getrandom:
        os.getrandom = getrandom
    random.Random.seed = seed_generator
    random.seed = random._inst.seed
    random.seed()
    # Otherwise ids would come from a library and from the network card.
    uuid._generate_time_safe = uuid._UuidCreate = None
    uuid._node = int.from_bytes(random_bytes(6), "big") | 1 << 40
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(int.from_bytes(random_bytes(4), "big"))


@functools.wraps(os.urandom)
def random_bytes(size, /):
    """The next bytes that the seed determines. Without the seed they cannot be predicted."""
    global _taken
    if size < 0:
        raise ValueError("negative argument not allowed")
    observations.is_program_thread()
    _taken += 1
    return hashlib.shake_256(_seed + _taken.to_bytes(8, "little")).digest(size)


@functools.wraps(_getrandom or os.urandom)
def getrandom(size, flags=0):
    return random_bytes(size)


@functools.wraps(_seed_generator)
def seed_generator(self, a=None, version=2):
    if a is None:
        a = int.from_bytes(random_bytes(32), "big")
    _seed_generator(self, a, version)
