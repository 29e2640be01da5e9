"""Time zones from data in this binary, so that `zoneinfo` works without files."""

import io
import zoneinfo
from zoneinfo import _common, _tzpath

import _onecall as wire

_in_folders = _tzpath.available_timezones


def load_tzdata(key):
    """Replaces the function that reads from the package `tzdata`, which contains the same files."""
    data = wire.time_zone(key)
    if data is None:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
    return io.BytesIO(data)


def available_timezones():
    """Returns a set containing all available time zones."""
    built_in = set(wire.time_zones())
    # A program may have set a folder of its own.
    return built_in | _in_folders() if _tzpath.TZPATH else built_in


_common.load_tzdata = load_tzdata
_tzpath.available_timezones = zoneinfo.available_timezones = available_timezones
zoneinfo.reset_tzpath(to=[])
