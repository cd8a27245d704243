"""``pacb certificate``: the name of ``pacb certify`` until version 0.2."""

from __future__ import annotations

import argparse
from typing import Any

from ..terminal import say
from .certify import add_options
from .certify import run as certify
from .program import add_command


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    parser = add_command(subparsers, "certificate", run, "", "The former name of 'pacb certify'.")
    add_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    say("pacb certificate is called pacb certify now; this name works until version 0.4.")
    return certify(options)
