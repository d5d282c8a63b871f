"""A plugin of pytest that begins no more tests after a time: a mistake that is not caught by then is missed."""

import os
import time

import pytest

# How many seconds that is.
LIMIT = "PLANTED_SECONDS"
OVER = "the time to look for a mistake is over"
began = time.monotonic()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    if time.monotonic() - began > float(os.environ[LIMIT]):
        item.session.shouldstop = OVER
