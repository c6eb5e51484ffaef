from .models import describe as describe
from .models import load as load
from .models import save as save
