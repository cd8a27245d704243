"""Table 3's caption: the squared posteriors are said to have the lowest test error; on Waveform the linear one has."""

from pacb_models.benchmarks.paper.cells import printed_value

for distance in ("linear", "squared", "kl"):
    print(f"Waveform, test error, {distance:<8}", printed_value("bounds", "waveform", 1990, distance, "test_error"))
