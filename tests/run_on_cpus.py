"""The test suite as other processors would run it: with AVX2 only, with SSE only, and as this one does.

``python -P tests/run_on_cpus.py [options of pytest]``. NumPy, OpenBLAS and the C library choose their code by what the
processor offers, and the results differ in the last digits; each can be told to pass over what is there. Needs an x86
processor; on another one the suite is run once.
"""

import os
import platform
import subprocess
import sys


def environments() -> dict[str, dict[str, str]]:
    """Name of a kind of processor to the variables that make this one work like it."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {"this processor": {}}
    # NumPy's names changed with version 2.4; a name that it does not know would only be warned of.
    from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched

    wide = [name for name in dispatched if name.startswith(("AVX512", "X86_V4"))]
    old = {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched)}
    return {
        "AVX2 only": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(wide)},
        "SSE only": {**old, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4"},
        "this processor": {},
    }


def main(arguments: list[str]) -> int:
    """Run the suite on each; 1 when it failed on any."""
    failed = []
    for name, variables in environments().items():
        settings = " ".join(f'{key}="{value}"' for key, value in variables.items())
        print(f"== {name}: {settings}", flush=True)
        command = [sys.executable, "-m", "pytest", "-n", "auto", *arguments]
        if subprocess.run(command, env={**os.environ, **variables}).returncode != 0:
            failed.append(name)
    print(f"== failed: {', '.join(failed)}" if failed else "== passed on all")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
