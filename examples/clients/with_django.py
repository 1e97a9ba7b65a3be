"""Django with an ersproxy: python3 with_django.py [HOST:PORT]"""
import sys

import django
from django.conf import settings

settings.configure(CACHES={"default": {
    "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
    "LOCATION": (sys.argv[1:] or ["127.0.0.1:11311"])[0],
    "OPTIONS": {
        "connect_timeout": 2,  # seconds
        "timeout": 10,
        "no_delay": True,
        "dead_timeout": 1,  # 60 by default: so long all calls would fail
        "use_pooling": True,
        "max_pool_size": 16}}})
django.setup()

from django.core.cache import cache  # noqa: E402, after the settings

cache.set("photo", b"x" * 3_000_000, timeout=3600)
print(len(cache.get("photo")), "bytes")
