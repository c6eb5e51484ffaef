from ._base import FactorDensity as FactorDensity
from ._battery import MultiBatteryFA as MultiBatteryFA
from ._inference import Conditional as Conditional
from ._inference import ReconstructionErrors as ReconstructionErrors
from ._inter import InterBatteryFA as InterBatteryFA
from ._parameters import FactorParameters as FactorParameters
from ._selection import ComponentChoice as ComponentChoice
from ._selection import choose_components as choose_components
