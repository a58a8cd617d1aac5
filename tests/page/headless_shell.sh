#!/bin/sh
# Chromium without all that is for a window, with an open page: the driver waits for one, and opens none.
exec chromium-headless-shell "$@" about:blank
