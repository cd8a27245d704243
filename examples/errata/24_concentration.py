"""Table 9: the printed scores are not "almost 5 times" and "almost 3 times" each other."""

from pacb_models.benchmarks.paper.cells import printed_value

for name, claim in (("spambase", "almost 5 times"), ("bupa", "almost 3 times")):
    scores = {
        distance: printed_value("sparsity", name, 1000, distance, "HHI") for distance in ("linear", "squared", "kl")
    }
    ratios = [f"{scores['squared'] / scores[other]:.1f} times the {other}" for other in ("linear", "kl")]
    print(f"{name}: the squared score is {' and '.join(ratios)} one (said: {claim})")
