"""A program that takes the arguments of the ``ipopt`` executable and solves with the Ipopt library that cyipopt loads.

No package index has that executable, and the solver's way of calling it must be tested: this is the real Ipopt, its
real printout, and AMPL's real files. ``ipopt -v`` prints the version; ``ipopt model.nl -AMPL option=value …``
solves, reading more options from the file that ``option_file_name`` names.
"""

import re
import sys
from pathlib import Path

#: The numbers by which an .nl file marks real-valued suffixes of variables, constraints and objectives.
VARIABLES, CONSTRAINTS, OBJECTIVES = "4", "5", "6"


def scaling_factors(text, kind, size):
    import numpy as np

    factors = np.ones(size)
    for match in re.finditer(rf"^S{kind} (\d+) scaling_factor\n((?:\d+ \S+\n)+)", text, re.MULTILINE):
        for line in match.group(2).splitlines():
            index, factor = line.split()
            factors[int(index)] = float(factor)
    return factors


def read_options(arguments):
    options = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    file = options.pop("option_file_name", None)
    if file is not None:
        options |= dict(line.split(None, 1) for line in Path(file.strip('"')).read_text().splitlines() if line.strip())
    return options


def add_option(problem, name, text):
    for convert in (int, float, str):
        try:
            problem.add_option(name, convert(text))
            return
        except (TypeError, ValueError):
            continue
    sys.exit(f"Tried to set Option: {name}. It is not a valid option.")


def main():
    if "-v" in sys.argv:
        # Answered before anything is imported: Pyomo waits two seconds. Set-up sees to it that Ipopt is no older.
        print("Ipopt 3.14.0 (test program)")
        return
    from pyomo.contrib.pynumero.interfaces.ampl_nlp import AmplNLP
    from pyomo.contrib.pynumero.interfaces.cyipopt_interface import CyIpoptNLP

    file = sys.argv[1] if sys.argv[1].endswith(".nl") else sys.argv[1] + ".nl"
    nlp = AmplNLP(file)
    problem = CyIpoptNLP(nlp)
    text = Path(file).read_text()
    problem.set_problem_scaling(
        scaling_factors(text, OBJECTIVES, 1)[0],
        scaling_factors(text, VARIABLES, nlp.n_primals()),
        scaling_factors(text, CONSTRAINTS, nlp.n_constraints()),
    )
    for name, value in read_options(sys.argv[2:]).items():
        add_option(problem, name, value.strip().strip('"'))
    x, info = problem.solve(nlp.init_primals())
    # The .sol file that AMPL reads; PyNumero has no public function for it.
    nlp._asl.finalize_solution(0 if info["status"] == 0 else 500, "Ipopt test program", x, info["mult_g"])


if __name__ == "__main__":
    main()
