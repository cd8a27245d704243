"""Ipopt for Python without conda: cyipopt on the Ipopt inside casadi's wheel, and PyNumero's ASL library for Pyomo.

cyipopt has no wheels, Debian's Ipopt is 3.11 with an ordering that does not finish on large problems, and no ``ipopt``
program can be had from PyPI. casadi's wheel carries Ipopt 3.14 with MUMPS and METIS; its own ipopt.pc points to the
machine it was built on, so we write one. The ASL library is compiled from the source inside Pyomo's wheel.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import debian
from steps import Log, StepFailed

ASL_HEADERS = Path("/usr/include/ampl-netlib-solvers")


def ask(python: Path, code: str) -> str:
    """What the environment's Python prints for a line of code; empty when it fails or there is no such Python."""
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def install_cyipopt(python: Path, requirements: list[str], log: Log) -> None:
    """Install cyipopt linked with casadi's libipopt, unless a recent Ipopt can be loaded already.

    ``requirements`` are those of the extra ``ipopt`` in setup.cfg: casadi and cyipopt.
    """
    if loads_recent_ipopt(python):
        return
    missing = debian.missing_compiler()
    if missing:
        debian.install(missing, log)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
    casadi_requirement, cyipopt_requirement = requirements
    with log.step("casadi, whose wheel carries Ipopt"):
        log.run([*pip, casadi_requirement], f"pip could not install {casadi_requirement}")
    build = [*pip, "--no-deps", "--no-binary", "cyipopt", cyipopt_requirement]
    failure = "cyipopt could not be built; it needs g++, pkg-config, Python's headers and the network"
    with tempfile.TemporaryDirectory() as folder, log.step("cyipopt, built on that Ipopt"):
        write_pkg_config(Path(folder), package_folder(python, "casadi"))
        environment = {
            "PKG_CONFIG_PATH": os.pathsep.join(filter(None, [folder, os.environ.get("PKG_CONFIG_PATH")])),
            "LDFLAGS": os.environ.get("LDFLAGS", "") + " -Wl,-rpath,$ORIGIN/../casadi",
        }
        log.run(build, failure, **environment)
        if not loads_recent_ipopt(python):
            # pip's cache may hold a cyipopt that was built on this machine against another Ipopt.
            log.run([*build, "--force-reinstall", "--no-cache-dir"], failure, **environment)
        if not loads_recent_ipopt(python):
            raise StepFailed("cyipopt was built but cannot load casadi's Ipopt")


def loads_recent_ipopt(python: Path) -> bool:
    """Whether cyipopt is there and really loads Ipopt 3.14 or newer, the version our solvers are written for."""
    return ask(python, "import cyipopt; print(cyipopt.IPOPT_VERSION >= (3, 14))") == "True"


def package_folder(python: Path, package: str) -> Path:
    """Where a package of the environment is, found without importing it."""
    code = f"import importlib.util as u; print(u.find_spec({package!r}).submodule_search_locations[0])"
    return Path(ask(python, code))


def write_pkg_config(folder: Path, casadi: Path) -> None:
    """Tell pkg-config that Ipopt is in casadi's folder."""
    lines = [
        "Name: Ipopt",
        "Description: Ipopt inside the casadi wheel",
        "Version: 3.14",
        f"Cflags: -I{casadi}/include/coin-or",
        f"Libs: -L{casadi} -lipopt",
    ]
    (folder / "ipopt.pc").write_text("\n".join(lines) + "\n")


def install_asl_library(python: Path, log: Log) -> None:
    """Compile PyNumero's interface to the AMPL solver library into the environment's bin folder, unless it is there."""
    library = python.parent / "libpynumero_ASL.so"
    if ask(python, f"import ctypes; ctypes.CDLL({str(library)!r}); print(True)"):
        return
    missing = debian.missing_compiler()
    if not (ASL_HEADERS / "asl.h").is_file():
        missing.append("libamplsolver-dev")
    if missing:
        debian.install(missing, log)
    source = package_folder(python, "pyomo") / "contrib/pynumero/src/AmplInterface.cpp"
    compiler = ["g++", "-O2", "-std=c++11", "-fPIC", "-shared", "-DBUILDING_PYNUMERO_ASL", f"-I{ASL_HEADERS}"]
    with log.step("PyNumero's ASL library, which Pyomo's Ipopt needs"):
        command = [*compiler, source, "-lamplsolver", "-ldl", "-o", library]
        log.run(command, "PyNumero's ASL library could not be compiled with g++ against libamplsolver-dev")
