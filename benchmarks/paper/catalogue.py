"""All tables and figures, in the order of the document."""

from collections.abc import Iterable

from pacb_models.errors import InputError

from .item import Item
from .items import bounds, constants, experiment, guarantees, posteriors, solvers
from .numbers import item_name

_IN_ORDER = (
    bounds.HEADLINE,
    constants.CONSTANTS_TABLE,
    bounds.BOUNDS_TABLE,
    solvers.FP_VS_SOLVER_TABLE,
    solvers.FP_VS_CCP_TABLE,
    posteriors.SPARSITY_TABLE,
    bounds.DIVERGENCES_TABLE,
    experiment.CROSS_VALIDATION_TABLE,
    experiment.DATA_TABLE,
    guarantees.CERTIFICATES_TABLE,
    guarantees.CHANGE_OF_MEASURE_TABLE,
    posteriors.SUPPORTS,
    *constants.MOMENTS,
    *posteriors.WEIGHTS,
    posteriors.DISTRIBUTIONS,
    posteriors.AGAINST_DELTA,
    guarantees.CERTIFICATES_FIGURE,
    guarantees.CHANGE_OF_MEASURE_FIGURE,
)
ITEMS: dict[str, Item] = {item.name: item for item in _IN_ORDER}


def chosen(names: Iterable[str]) -> list[Item]:
    """The items of these names, or numbers in the paper, in the order of the document, tables with the figures of them;
    "all", or none, stands for every one.
    """
    wanted = {item_name(name) for name in names} or {"all"}
    for name in sorted(wanted - {"all"}):
        if name not in ITEMS:
            raise InputError("NAME", name, f"it must be 'all', a number such as 'table3', or one of {', '.join(ITEMS)}")
    return [item for item in ITEMS.values() if wanted & {"all", item.name, item.cells_of}]
