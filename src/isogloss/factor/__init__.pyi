from .battery import MultiBatteryFA as MultiBatteryFA
from .inference import Conditional as Conditional
from .inference import ReconstructionErrors as ReconstructionErrors
from .inter import InterBatteryFA as InterBatteryFA
from .parameters import FactorParameters as FactorParameters
from .selection import ComponentChoice as ComponentChoice
from .selection import choose_components as choose_components
