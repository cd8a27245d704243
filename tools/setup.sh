#!/bin/sh
# Finds a Python that is new enough and hands over to setup_env.py with the same arguments.
# PYTHON=/path/to/python overrides the search.
set -eu

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    if ! new_enough "$PYTHON"; then
        echo "set-up: PYTHON=$PYTHON is not a working Python 3.11 or newer." >&2
        exit 1
    fi
else
    for candidate in python3 python3.11 python3.12 python3.13 python3.14 python; do
        if new_enough "$candidate"; then
            PYTHON=$candidate
            break
        fi
    done
    if [ -z "${PYTHON:-}" ]; then
        echo "set-up: no Python 3.11 or newer on PATH. Debian: apt-get install python3 python3-venv; or name one: make PYTHON=/path/to/python" >&2
        exit 1
    fi
fi
exec "$PYTHON" "$(dirname "$0")/setup_env.py" "$@"
